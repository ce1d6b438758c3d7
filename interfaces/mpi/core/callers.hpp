// Callers: who may be in functions of MPI: one thread, which takes no lock, or all that hold one; and how another thread
// gets in where the program has asked for one.
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::mpi {

class CallLock;
class Progress;

/// Of the process. The thread that takes no lock is its *own* thread; it counts the functions that it is in, by plain
/// stores. Another thread that comes (which MPI forbids, and programs do all the same, one at a time) takes the own
/// thread's name away, makes that see it (FenceOfAll), and waits until it is in no function, or waits in one: from then
/// on all take a lock.
class Callers {
 public:
  /// Null while one thread takes none.
  static CallLock* lock() noexcept { return state_.lock.load(std::memory_order_acquire); }

  /// The world has been made: the calling thread is the own one.
  static void begin_alone() noexcept;
  /// All threads take `lock`, for good.
  static void begin_with(CallLock& lock) noexcept { state_.lock.store(&lock, std::memory_order_release); }
  /// There will be no other thread from now on: the world ends, or is used in other ways than by functions of MPI.
  static void stay_alone() noexcept { state_.stays_alone.store(true, std::memory_order_relaxed); }
  /// There is no world any more.
  static void end() noexcept { state_.own_thread.store(nullptr, std::memory_order_relaxed); }

  /// Whether this thread may call only what any thread may, since it can't be let in.
  static bool refuses_this_thread() noexcept {
    const void* const own = state_.own_thread.load(std::memory_order_relaxed);
    return own != nullptr && own != __builtin_thread_pointer() && lock() == nullptr;
  }

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

  /// Another thread than the own one, or that one without its name, wants to call. When it returns there is a lock, or
  /// the own thread has its name again. False: the calling thread is another one, and can't be let in.
  static bool let_in(Progress& progress);
  /// Of the own thread while it waits in a function: another one wants to get in.
  static bool is_wanted() noexcept { return state_.offered.load(std::memory_order_relaxed) != nullptr; }
  /// The same thread takes the lock, on behalf of the function that it is in. Nothing where functions nest: one has
  /// called the program, which has called another.
  static void share_from(Progress& progress);

 private:
  static bool take_name_away(Progress& progress, const void* name);

  struct State {
    std::atomic<const void*> own_thread{nullptr};  // its thread pointer; null: there is none, or it takes the lock, too
    std::atomic<CallLock*> lock{nullptr};
    std::atomic<CallLock*> offered{nullptr};  // to the own thread
    std::atomic<std::uint32_t> own_calls{0};
    std::atomic<bool> stays_alone{false};
  };
  static State state_;  // one, so that other libraries find it by one look
};

}  // namespace coracle::mpi
