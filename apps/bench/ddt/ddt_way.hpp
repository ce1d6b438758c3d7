// DdtWay: the ways of a message of scattered data that `coracle bench ddt` compares.
#pragma once

#include <optional>

#include "runtime/job/rendezvous_scheme.hpp"

namespace coracle::internals::bench {

/// How a message of a pattern goes: by a way of the library's, or packed, sent in one piece, and unpacked.
enum class DdtWay { automatic, one_sided, cooperative, shm, cma, by_hand, by_library };

/// The library's own choice first.
inline constexpr DdtWay kDdtWays[] = {DdtWay::automatic, DdtWay::one_sided, DdtWay::cooperative, DdtWay::shm,
                                      DdtWay::cma,       DdtWay::by_hand,   DdtWay::by_library};

/// The library's way that it is; none for what is packed beforehand.
std::optional<RendezvousScheme> rendezvous_scheme(DdtWay way) noexcept;
const char* to_string(DdtWay way) noexcept;

}  // namespace coracle::internals::bench
