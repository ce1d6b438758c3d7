// Turning the loop from outside, and what is kept for it.
#include "interfaces/mpi/core/progress.hpp"

#include <sched.h>

namespace coracle::mpi {

bool Progress::poll() {
  constexpr std::uint32_t kVainMax = 4;
  if (loop_.turn()) {
    vain_polls_ = 0;
    return true;
  }
  if (!loop_.spins() && ++vain_polls_ >= kVainMax) {
    vain_polls_ = 0;
    ::sched_yield();
  }
  return false;
}

internals::Completion& Progress::take_completion() {
  if (free_completions_.empty()) [[unlikely]] {
    completions_.push_back(std::make_unique<internals::Completion>(loop_.root_scope(), ends_));
    free_completions_.reserve(completions_.capacity());  // so that giving one back allocates nothing
    return *completions_.back();
  }
  internals::Completion& completion = *free_completions_.back();
  free_completions_.pop_back();
  return completion;
}

void Progress::give_completion(internals::Completion& completion) noexcept {
  if (!completion.is_cancelled()) [[likely]]
    return free_completions_.push_back(&completion);
  std::erase_if(completions_, [&completion](const auto& each) { return each.get() == &completion; });
}

void Progress::visit(internals::WaiterVisitor& visitor) const noexcept {
  for (const auto& completion : completions_) completion->visit(visitor);
}

void Progress::end() noexcept {
  free_completions_.clear();
  completions_.clear();
}

}  // namespace coracle::mpi
