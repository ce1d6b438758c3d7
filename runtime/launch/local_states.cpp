// Looks at ranks. Only signals need a lock: so that a process that has ended can be reaped during a look.
#include "runtime/launch/local_states.hpp"

namespace coracle::internals {

Task<std::vector<insight::RankState>> LocalStates::look() {
  if (is_pointless_()) co_return std::vector<insight::RankState>();
  co_await collector_.look(ranks_.all());
  if (is_pointless_()) co_return std::vector<insight::RankState>();
  co_return collector_.states(ranks_.all());
}

Task<std::vector<insight::RankState>> LocalStates::locate(std::vector<std::uint32_t> wanted) {
  const Mutex::Lock nobody_reaps = co_await reaping_.lock();
  if (is_pointless_()) co_return std::vector<insight::RankState>();
  co_await collector_.locate(ranks_.all(), wanted);
  co_return collector_.states(ranks_.all());
}

}  // namespace coracle::internals
