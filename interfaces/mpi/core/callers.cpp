// From one thread without a lock to several with one.
#include "interfaces/mpi/core/callers.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "interfaces/mpi/core/call_lock.hpp"
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
  state_.own_calls.store(1, std::memory_order_relaxed);
  state_.own_thread.store(__builtin_thread_pointer(), std::memory_order_relaxed);
}

bool Callers::is_own() noexcept {
  return std::this_thread::get_id() == own_id;
}

bool Callers::enter(Shareable& world, std::uint32_t& others, CallLock*& lock) {
  for (;;) {
    lock = Callers::lock();
    if (lock != nullptr) {
      lock->enter();
      return true;
    }
    // In a function already, which has called the program: nobody else can be let in before that has ended.
    const std::uint32_t calls = state_.own_calls.load(std::memory_order_relaxed);
    if (is_own() && calls > 0) {
      state_.own_calls.store(calls + 1, std::memory_order_relaxed);
      others = calls;
      return true;
    }
    if (!let_in(world)) return false;
    others = begin_own();
    if (others != kElsewhere) return true;
  }
}

/// When it returns there is a lock, or the own thread has its name again. False: the calling thread is another one, and
/// can't be let in.
bool Callers::let_in(Shareable& world) {
  const std::lock_guard guard(letting_in);
  if (lock() != nullptr || is_own()) return true;
  const void* const name = state_.own_thread.load(std::memory_order_relaxed);
  return name != nullptr && take_name_away(world, name);
}

/// True: there is a lock.
bool Callers::take_name_away(Shareable& world, const void* name) {
  // Of a process of its own and of ranks in one address space alike: it is this process's threads that are to see it.
  const internals::FenceOfAll fence(internals::Placement::thread);
  if (!fence.works() || !world.may_be_shared() || stays_alone()) return false;
  auto made = std::make_unique<CallLock>();
  state_.own_thread.store(nullptr, std::memory_order_relaxed);
  state_.offered.store(made.get(), std::memory_order_release);
  fence.pass();
  // Some seconds: so long the own thread's functions nest, and it waits in the inner one, perhaps for this thread.
  constexpr int kRoundsMax = 100'000;
  for (int round = 0; lock() == nullptr; ++round) {
    const bool is_outside = state_.own_calls.load(std::memory_order_acquire) == 0;
    const bool is_in_vain = stays_alone() || round == kRoundsMax;
    if ((is_outside || is_in_vain) && state_.offered.exchange(nullptr) != nullptr) {
      // What it has done since it was asked first is seen now.
      if (is_outside && !is_in_vain && world.may_be_shared()) {
        world.share_late(*made);
        state_.lock.store(made.release(), std::memory_order_release);
        return true;
      }
      state_.own_thread.store(name, std::memory_order_relaxed);
      return false;
    }
    world.wake();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  (void)made.release();  // the own thread has it: for good, since threads may be about to leave it when the world ends
  return true;
}

void Callers::share_from(Shareable& world) {
  if (!world.may_be_shared()) return stay_alone();
  CallLock* const offered = state_.offered.exchange(nullptr, std::memory_order_acquire);
  if (offered == nullptr) return;
  offered->enter();
  world.share_late(*offered);
  state_.lock.store(offered, std::memory_order_release);
}

}  // namespace coracle::mpi
