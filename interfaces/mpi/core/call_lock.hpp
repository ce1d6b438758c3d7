// CallLock: what a thread holds while it is in a function of MPI, where several call (MPI_THREAD_SERIALIZED, _MULTIPLE;
// or see Callers). A thread that waits gives it away meanwhile: one of those turns the loop for all, the others sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "interfaces/mpi/core/call_note.hpp"
#include "interfaces/mpi/core/fair_lock.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/frame_pool.hpp"
#include "runtime/job/collective_log.hpp"

namespace coracle::mpi {

/// Of one process, for good: threads may still be about to leave when the world has ended.
class CallLock final : public internals::LoopGate {
 public:
  /// What is waited for.
  struct Question {
    bool (*ask)(void*);
    void* predicate;
    bool operator()() const { return ask(predicate); }
  };

  CallLock() = default;

  /// The world has been made, by the thread that holds this. `waiting`: where the note of the holder's call is.
  void begin(internals::EventLoop& loop, const CallNote*& waiting) noexcept;
  /// The world ends. The thread that holds this leaves; others may not wait.
  void end() noexcept;

  /// Calls nest, where a function of the program that a call calls calls another.
  void enter();
  void leave() noexcept;
  /// Of the holder: how many other threads are in a function, those included that have just been woken.
  std::uint32_t others() const noexcept { return calls_ - 1; }
  /// As the loop's.
  bool turn();
  /// Waits until `done()`, which only what the loop does, or another thread's call, makes true; any thread asks it.
  template <class Predicate>
  void wait_until(Predicate& done) {
    wait({[](void* predicate) { return (*static_cast<Predicate*>(predicate))(); }, &done});
  }

  // In a signal handler, which shows what it can:
  /// Whether another thread is in the library just now, which changes what a report would read.
  bool is_taken_elsewhere() const noexcept;
  /// What the interrupted thread waits for; null where it does not.
  const CallNote* own_note() const noexcept;
  /// `show(note)` of what other threads wait for.
  template <class Show>
  void show_others(Show show) const noexcept {
    if (is_taken_elsewhere()) return;
    const std::uintptr_t self = this_thread();
    if (turner_.note != nullptr && turner_.thread != self) show(*turner_.note);
    for (const Waiting* each : waiting_)
      if (each->kept.note != nullptr && each->kept.thread != self) show(*each->kept.note);
  }

 private:
  static std::uintptr_t this_thread() noexcept;

  /// What belongs to a thread that has given the lock away while it turns the loop or sleeps for all.
  struct Kept {
    std::uintptr_t thread = 0;
    std::uint32_t depth = 0;
    const CallNote* note = nullptr;
    internals::ProgramCall call;
  };
  /// A thread that waits, on its own stack.
  struct Waiting {
    Question done{};
    Kept kept{};
    std::condition_variable woken;
    bool is_woken = false;
  };

  class Wait;

  void wait(Question done);
  void turn_for_all(const Question& done);
  void sleep_until_woken(Waiting& self);
  void wake(Waiting& one) noexcept;
  void wake_done() noexcept;
  void take();
  void give(bool falls_asleep = false) noexcept;
  void give_keeping(Kept& kept, bool falls_asleep = false) noexcept;
  void take_with(Kept& kept);
  void open() noexcept override;
  void close() noexcept override;

  FairLock lock_;
  std::atomic<std::uintptr_t> holder_{0};
  std::uint32_t depth_ = 0;  // of the holder's calls
  std::uint32_t calls_ = 0;  // that have begun, and not ended, of all threads
  std::uint32_t turns_ = 0;  // of the loop, in each other, by the holder
  internals::EventLoop* loop_ = nullptr;
  const CallNote** noted_ = nullptr;
  internals::FramePool frames_;                   // of the loop's coroutines, whoever resumes them
  internals::FramePool* outer_frames_ = nullptr;  // the holder's own
  bool is_turned_ = false;                        // a thread turns the loop, or sleeps for all
  bool is_asleep_ = false;                        // it sleeps
  Kept turner_;                                   // what it keeps meanwhile
  std::vector<Waiting*> waiting_;                 // the others, the oldest first
  std::mutex mutex_;                              // of Waiting::is_woken
};

/// Holds the lock, where there is one.
class CallLockScope {
 public:
  explicit CallLockScope(CallLock* lock) : lock_(lock) {
    if (lock_ != nullptr) [[unlikely]]
      lock_->enter();
  }
  ~CallLockScope() {
    if (lock_ != nullptr) [[unlikely]]
      lock_->leave();
  }
  CallLockScope(const CallLockScope&) = delete;
  CallLockScope& operator=(const CallLockScope&) = delete;

 private:
  CallLock* const lock_;
};

}  // namespace coracle::mpi
