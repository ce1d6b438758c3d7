// What members of a team have to agree on, and don't.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// Throws Error (bad_input): this member has called a collective with `here` bytes, `rank` (of the job) with `there`.
[[noreturn]] void throw_sizes_differ(std::size_t here, std::size_t there, std::uint32_t rank);

}  // namespace coracle::internals
