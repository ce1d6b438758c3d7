// What transports have in common where time is real.
#include "runtime/rank/transport.hpp"

namespace coracle::internals {

std::uint64_t Transport::occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept {
  const std::uint64_t until_ns = loop.exact_now_ns() + duration_ns;
  while (loop.exact_now_ns() < until_ns) {
  }
  return until_ns;
}

}  // namespace coracle::internals
