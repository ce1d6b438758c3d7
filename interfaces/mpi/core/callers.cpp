// From one thread without a lock to several with one.
#include "interfaces/mpi/core/callers.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "interfaces/mpi/core/call_lock.hpp"
#include "interfaces/mpi/core/progress.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace coracle::mpi {
namespace {

std::thread::id own_id;
// Held by who takes the own thread's name away, until there is a lock or the name is back.
constinit std::mutex letting_in;

}  // namespace

constinit Callers::State Callers::state_;

void Callers::begin_alone() noexcept {
  own_id = std::this_thread::get_id();
  state_.own_thread.store(__builtin_thread_pointer(), std::memory_order_relaxed);
}

bool Callers::let_in(Progress& progress) {
  const std::lock_guard guard(letting_in);
  if (lock() != nullptr || std::this_thread::get_id() == own_id) return true;
  const void* const name = state_.own_thread.load(std::memory_order_relaxed);
  return name != nullptr && take_name_away(progress, name);
}

/// True: there is a lock.
bool Callers::take_name_away(Progress& progress, const void* name) {
  // Of a process of its own and of ranks in one address space alike: it is this process's threads that are to see it.
  const internals::FenceOfAll fence(internals::Placement::thread);
  if (!fence.works() || !progress.loop().may_be_shared() || state_.stays_alone.load(std::memory_order_relaxed)) return false;
  auto made = std::make_unique<CallLock>();
  state_.own_thread.store(nullptr, std::memory_order_relaxed);
  state_.offered.store(made.get(), std::memory_order_release);
  fence.pass();
  // Where the own thread's functions nest for so long it waits in the inner one, perhaps for this thread.
  constexpr std::chrono::seconds kPatience{10};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    if (state_.own_calls.load(std::memory_order_acquire) == 0 && state_.offered.exchange(nullptr) != nullptr) {
      progress.share_late(*made);
      state_.lock.store(made.release(), std::memory_order_release);
      return true;
    }
    if (lock() != nullptr) break;
    if (std::chrono::steady_clock::now() > until && state_.offered.exchange(nullptr) != nullptr) {
      state_.own_thread.store(name, std::memory_order_relaxed);
      return false;
    }
    progress.loop().doorbell().ring();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  (void)made.release();  // the own thread has it: for good, since threads may be about to leave it when the world ends
  return true;
}

void Callers::share_from(Progress& progress) {
  if (state_.own_calls.load(std::memory_order_relaxed) != 1) return;
  CallLock* const offered = state_.offered.exchange(nullptr, std::memory_order_acquire);
  if (offered == nullptr) return;
  offered->enter();
  progress.share_late(*offered);
  state_.lock.store(offered, std::memory_order_release);
}

}  // namespace coracle::mpi
