// The machine's clock.
#include "runtime/core/clock.hpp"

#include <ctime>

namespace coracle::internals {
namespace {

class RealClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
  }
};

}  // namespace

Clock& real_clock() noexcept {
  static RealClock clock;
  return clock;
}

}  // namespace coracle::internals
