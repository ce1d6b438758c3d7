// PolledWaits: the coroutines of a rank that wait until a number in memory, which others write, is large enough.
#pragma once

#include <vector>

#include "runtime/core/scheduler.hpp"

namespace coracle::internals {

/// Looks at all of them in each turn of the loop, whose poller it is while there are any. `Wait`: a Waiter with
/// `reached()`. Loop's thread only.
template <class Wait>
class PolledWaits : public Poller {
 public:
  explicit PolledWaits(Scheduler& loop) noexcept;
  ~PolledWaits() override;
  PolledWaits(const PolledWaits&) = delete;
  PolledWaits& operator=(const PolledWaits&) = delete;

  bool poll() noexcept override;
  void add(Wait& wait);
  /// Of one that has not reached its value.
  void remove(Wait& wait) noexcept;

  Scheduler& loop() const noexcept { return loop_; }

 protected:
  const std::vector<Wait*>& waits() const noexcept { return waits_; }

 private:
  Scheduler& loop_;
  std::vector<Wait*> waits_;
};

// Not in the class, where they would be inline, and compiled wherever the class is used.

template <class Wait>
PolledWaits<Wait>::PolledWaits(Scheduler& loop) noexcept : loop_(loop) {}

template <class Wait>
PolledWaits<Wait>::~PolledWaits() {
  loop_.remove_poller(*this);
}

template <class Wait>
void PolledWaits<Wait>::add(Wait& wait) {
  if (waits_.empty()) loop_.add_poller(*this);
  waits_.push_back(&wait);
}

template <class Wait>
void PolledWaits<Wait>::remove(Wait& wait) noexcept {
  std::erase(waits_, &wait);
  if (waits_.empty()) loop_.remove_poller(*this);
}

template <class Wait>
bool PolledWaits<Wait>::poll() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < waits_.size();) {
    Wait* wait = waits_[i];
    if (!wait->reached()) {
      ++i;
      continue;
    }
    waits_[i] = waits_.back();
    waits_.pop_back();
    wait->complete();
    any = true;
  }
  if (waits_.empty()) loop_.remove_poller(*this);
  return any;
}

}  // namespace coracle::internals
