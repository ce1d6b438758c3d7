// Callers: who may be in functions of MPI: one thread, which takes no lock, or all that hold one; and how another
// thread gets in where the program has asked for one.
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::mpi {

class CallLock;

/// What one thread uses without a lock, and several can by one.
class Shareable {
 public:
  virtual bool may_be_shared() const noexcept = 0;
  /// From now on `lock` is taken around all that uses it. Nobody does just now, or this thread, which waits.
  virtual void share_late(CallLock& lock) = 0;
  /// Wakes the thread that waits, if it sleeps. Any thread.
  virtual void wake() noexcept = 0;

 protected:
  ~Shareable() = default;
};

/// Of the process. The thread that takes no lock is its *own* thread; it counts the functions that it is in, by plain
/// stores. Another thread that comes (which MPI forbids, and programs do all the same, one at a time) takes the own
/// thread's name away, makes that see it (FenceOfAll), and waits until it is in no function, or waits in one: from then
/// on all take a lock.
class Callers {
 public:
  /// Null while one thread takes none.
  static CallLock* lock() noexcept { return state_.lock.load(std::memory_order_acquire); }

  /// The world is being made: the calling thread is the own one, and in a function, until end_own(0).
  static void begin_alone() noexcept;
  /// All threads take `lock`, for good.
  static void begin_with(CallLock& lock) noexcept { state_.lock.store(&lock, std::memory_order_release); }
  /// There will be no other thread from now on: the world ends, or is used in other ways than by functions of MPI.
  static void stay_alone(bool stays = true) noexcept { state_.stays_alone.store(stays, std::memory_order_relaxed); }
  static bool stays_alone() noexcept { return state_.stays_alone.load(std::memory_order_relaxed); }
  /// There is no world any more.
  static void end() noexcept { state_.own_thread.store(nullptr, std::memory_order_relaxed); }

  static constexpr std::uint32_t kElsewhere = ~std::uint32_t{0};
  /// A function begins. Gives how many the own thread is in besides; kElsewhere: this is another thread. By the
  /// thread's name, since a library with thread-local variables that are read by one load can't always be loaded by
  /// dlopen (python's mpi4py).
  static std::uint32_t begin_own() noexcept {
    if (state_.own_thread.load(std::memory_order_relaxed) != __builtin_thread_pointer()) [[unlikely]]
      return kElsewhere;
    const std::uint32_t others = state_.own_calls.load(std::memory_order_relaxed);
    state_.own_calls.store(others + 1, std::memory_order_relaxed);
    // Whoever takes the name away passes a FenceOfAll behind that, and then reads the count.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (state_.own_thread.load(std::memory_order_relaxed) != nullptr) [[likely]]
      return others;
    state_.own_calls.store(others, std::memory_order_release);
    return kElsewhere;
  }
  /// It ends, of `others` + 1. Gives the lock that the own thread has taken meanwhile, and is to give; mostly null.
  static CallLock* end_own(std::uint32_t others) noexcept {
    CallLock* const taken = state_.lock.load(std::memory_order_relaxed);
    // release: what the function has done is seen by who finds the own thread in none.
    state_.own_calls.store(others, std::memory_order_release);
    return taken;
  }

  /// Where begin_own() has said kElsewhere: the function begins with a lock, which is the caller's to give, or of the
  /// own thread after all. False: this is another thread, and can't be let in.
  static bool enter(Shareable& world, std::uint32_t& others, CallLock*& lock);
  /// Whether this is the own thread, though it may have no name.
  static bool is_own() noexcept;
  /// Of the own thread while it waits in a function, the only one that it is in: another one wants to get in.
  static bool is_wanted() noexcept {
    return state_.offered.load(std::memory_order_relaxed) != nullptr && !stays_alone() &&
           state_.own_calls.load(std::memory_order_relaxed) == 1;
  }
  /// The same thread takes the lock, on behalf of that function, if it is still wanted.
  static void share_from(Shareable& world);

 private:
  static bool let_in(Shareable& world);
  static bool take_name_away(Shareable& world, const void* name);

  struct alignas(64) State {
    std::atomic<const void*> own_thread{nullptr};  // its thread pointer; null: there is none, or it takes the lock, too
    std::atomic<CallLock*> lock{nullptr};
    std::atomic<CallLock*> offered{nullptr};  // to the own thread
    std::atomic<std::uint32_t> own_calls{0};
    std::atomic<bool> stays_alone{false};
  };
  static State state_;  // one, so that other libraries find it by one look
};

}  // namespace coracle::mpi
