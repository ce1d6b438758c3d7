// Barrier: a tree of counters. A member waits for its children's arrivals, reports to its parent, and waits for its
// release.
#include "runtime/rank.hpp"
#include "runtime/team.hpp"

namespace coracle {
namespace {

// Wide: inside a node a raise is one atomic addition, so depth (each level a wake-up) costs more than width.
constexpr std::uint32_t kFanIn = 16;

}  // namespace

Task<> Team::barrier() {
  const std::uint64_t count = co_await enter_signals();
  // A member that waits here names no peer: the loss of any other will end its wait.
  const auto wait = [this](Signal& signal, std::uint64_t at_least) {
    return GuardedSignalWait(rank_.core(), signal, at_least, watches_);
  };
  const std::uint32_t first_child = index_ * kFanIn + 1;
  const std::uint32_t last_child = first_child < size_ ? std::min(first_child + kFanIn, size_) : first_child;
  const std::uint32_t children = last_child - first_child;
  if (children > 0) co_await wait(own_area().arrived, count * children);
  if (index_ != 0) {
    co_await rank_.raise(area((index_ - 1) / kFanIn).as<Signal>());
    check_whole("barrier");
    co_await wait(own_area().released, count);
  }
  for (std::uint32_t child = first_child; child < last_child; ++child)
    co_await rank_.raise((area(child).as<Signal>() + 1));
  leave_signals();
}

}  // namespace coracle
