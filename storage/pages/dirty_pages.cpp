#include "storage/pages/dirty_pages.hpp"

#include <algorithm>
#include <utility>

namespace coracle::internals::storage {

DirtyPages::DirtyPages(std::uint32_t frames, CacheId homes, std::size_t dirty_max, CacheTasks& tasks)
    : tasks_(tasks), states_(frames), max_(dirty_max), refusing_(homes) {
  unflushed_.homes.resize(homes);
}

void DirtyPages::note(std::uint32_t frame, bool dirty, CacheId home) {
  State& state = states_[frame];
  if (dirty == state.dirty) return;
  state.dirty = dirty;
  state.home = home;
  if (dirty) {
    ++count_;
    enqueue(frame);
  } else {
    --count_;
    tasks_.notify();
  }
}

void DirtyPages::enqueue(std::uint32_t frame) {
  if (!std::exchange(states_[frame].in_order, true)) order_.push_back(frame);
}

void DirtyPages::put_begins(std::uint32_t frame) noexcept {
  states_[frame].under_way = true;
  states_[frame].put = ++begun_;
  ++under_way_;
}

void DirtyPages::put_ended(std::uint32_t frame) noexcept {
  if (!std::exchange(states_[frame].under_way, false)) return;
  --under_way_;
  tasks_.notify();
}

void DirtyPages::put_succeeded(std::uint32_t frame) noexcept {
  ++states_[frame].successes;
  refusing_[states_[frame].home] = false;
  put_ended(frame);
}

void DirtyPages::put_failed(std::uint32_t frame, const Error& error) {
  latest_failed_ = std::max(latest_failed_, states_[frame].put);
  refusing_[states_[frame].home] = true;
  failure_.emplace(error);
  put_ended(frame);
  enqueue(frame);
}

Task<> DirtyPages::ended() {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> puts;
  for (std::uint32_t frame = 0; under_way_ > 0 && frame < states_.size(); ++frame)
    if (states_[frame].under_way) puts.emplace_back(frame, states_[frame].put);
  const auto ended = [this](const auto& put) {
    const State& state = states_[put.first];
    return !state.under_way || state.put != put.second;
  };
  std::erase_if(puts, ended);
  while (!puts.empty() && !tasks_.stopped()) {
    co_await tasks_.changed();
    std::erase_if(puts, ended);
  }
}

}  // namespace coracle::internals::storage
