#include "interfaces/mpi/core/fair_lock.hpp"

namespace coracle::mpi {

void FairLock::wait() {
  std::unique_lock guard(mutex_);
  // acquire: where it has become free meanwhile, as in take().
  if (state_.exchange(kWanted, std::memory_order_acquire) == kFree) {
    // Nobody waits: those who do would have got it.
    state_.store(kTaken, std::memory_order_relaxed);
    return;
  }
  Place place;
  waiting_.push_back(&place);
  place.turn.wait(guard, [&place] { return place.has_it; });
}

void FairLock::hand_over() noexcept {
  const std::lock_guard guard(mutex_);
  Place& next = *waiting_.front();
  waiting_.pop_front();
  if (waiting_.empty()) state_.store(kTaken, std::memory_order_relaxed);
  next.has_it = true;
  next.turn.notify_one();  // under the mutex: the place is there until it is free
}

}  // namespace coracle::mpi
