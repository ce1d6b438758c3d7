// Traffic: tagged messages of random sizes between all members of a team, received by receives of all kinds, and what
// the rules of matching say about who got what.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

namespace coracle::internals::test {

struct TrafficOptions {
  std::uint64_t seed = 1;
  std::uint32_t messages = 6;  ///< Of each member to each, itself too.
  bool sleeps = true;          ///< Senders and receivers are late at times.
};

/// Every member calls it, with the same options. Throws std::runtime_error when a message has not come as it was sent,
/// or to another receive than the rules say.
Task<> run_traffic(Team& team, TrafficOptions options);

}  // namespace coracle::internals::test
