// Turning the loop from outside, and what is kept for it.
#include "interfaces/mpi/core/progress.hpp"

#include <sched.h>

#include <algorithm>

namespace coracle::mpi {

void Progress::share(CallLock& lock) noexcept {
  lock_ = &lock;
  lock.begin(loop_, waiting_);
}

void Progress::share_late(CallLock& lock) {
  loop_.share(lock);
  share(lock);
}

void Progress::wait_shared(CallLock::Question done) {
  lock_->wait_until(done);
}

bool Progress::poll() {
  constexpr std::uint32_t kVainMax = 4;
  if (turn()) {
    vain_polls_ = 0;
    return true;
  }
  if (!loop_.spins() && ++vain_polls_ >= kVainMax) {
    vain_polls_ = 0;
    ::sched_yield();
  }
  return false;
}

Progress::KeptCompletion& Progress::take_completion() {
  if (free_completions_.empty()) [[unlikely]] {
    completions_.push_back(std::make_unique<KeptCompletion>(loop_.root_scope(), ends_));
    free_completions_.reserve(completions_.capacity());  // so that giving one back allocates nothing
    return *completions_.back();
  }
  KeptCompletion& completion = *free_completions_.back();
  free_completions_.pop_back();
  return completion;
}

void Progress::give_completion(internals::Completion& completion) noexcept {
  if (!completion.is_cancelled()) [[likely]]
    return free_completions_.push_back(static_cast<KeptCompletion*>(&completion));
  std::erase_if(completions_, [&completion](const auto& each) { return each.get() == &completion; });
}

void Progress::visit(internals::WaiterVisitor& visitor) const noexcept {
  receives_->visit(visitor);
  for (const auto& each : completions_) each->visit(visitor);
}

void Progress::visit_refused(internals::WaiterVisitor& visitor) const noexcept {
  for (const auto& each : completions_)
    if (each->is_refused()) each->visit(visitor);
}

std::size_t Progress::refused() const noexcept {
  const auto left = std::ranges::count_if(completions_, [](const auto& each) { return each->is_refused(); });
  return static_cast<std::size_t>(left) + blocking_receives_;
}

void Progress::withdraw() {
  receives_->cancel();
  for (const auto& each : completions_)
    if (!each->done()) each->cancel();
  const auto all_done = [this] {
    return !receives_->any() && std::ranges::all_of(completions_, [](const auto& each) { return each->done(); });
  };
  run_until<PlainNote>(all_done, ", until receives that nobody has answered are withdrawn");
}

void Progress::end() noexcept {
  receives_.reset();
  free_completions_.clear();
  completions_.clear();
}

}  // namespace coracle::mpi
