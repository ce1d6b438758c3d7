// Mutex: what coroutines of one rank hold one at a time, also while they await other things.
#pragma once

#include <utility>

#include "runtime/core/wait_queue.hpp"

namespace coracle::internals {

/// For a stretch of program with a co_await in it, which other coroutines of the rank must not enter meanwhile; without
/// one there is nothing to lock, since a rank's coroutines run one at a time. It is handed on in the order in which it
/// was asked for. Not recursive. Nothing to do with other ranks or threads. Loop's thread only.
///
///     auto lock = co_await mutex.lock();
class Mutex {
 public:
  /// `what`: a literal that hang reports and errors say for it.
  explicit Mutex(const char* what = "mutex") noexcept : waits_(what) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { CORACLE_ASSERT(!locked_, "'{}' ended while it is locked", waits_.what()); }

  class Lock;
  class LockWait;
  /// Throws Error when the coroutine is cancelled before it has the lock.
  LockWait lock() noexcept;
  /// An empty Lock when somebody has it.
  [[nodiscard]] Lock try_lock() noexcept;
  bool locked() const noexcept { return locked_; }

 private:
  friend class Condition;
  void unlock() noexcept {
    if (waits_.empty())
      locked_ = false;
    else
      waits_.grant();  // it stays locked: nobody comes between
  }

  bool locked_ = false;
  WaitQueue waits_;
};

/// Holds a Mutex until it dies, or lets it go.
class [[nodiscard]] Mutex::Lock {
 public:
  Lock() = default;
  Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
  Lock& operator=(Lock&& other) noexcept {
    if (this != &other) {
      if (mutex_ != nullptr) mutex_->unlock();
      mutex_ = std::exchange(other.mutex_, nullptr);
    }
    return *this;
  }
  ~Lock() {
    if (mutex_ != nullptr) mutex_->unlock();
  }

  /// Whether it holds one.
  explicit operator bool() const noexcept { return mutex_ != nullptr; }
  void unlock() noexcept {
    CORACLE_ASSERT(mutex_ != nullptr, "unlock() of a Lock that holds nothing");
    std::exchange(mutex_, nullptr)->unlock();
  }

 private:
  friend class Condition;
  friend class Mutex;
  friend class LockWait;
  explicit Lock(Mutex& mutex) noexcept : mutex_(&mutex) {}
  Mutex* mutex_ = nullptr;
};

class [[nodiscard]] Mutex::LockWait final : public QueuedWait {
 public:
  explicit LockWait(Mutex& mutex, bool interruptible = true) noexcept
      : QueuedWait(mutex.waits_, interruptible), mutex_(mutex) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    if (begin(self.promise(), !mutex_.locked_)) return true;
    if (granted()) mutex_.locked_ = true;
    return false;
  }
  [[nodiscard]] Lock await_resume() {
    if (keeps()) return Lock(mutex_);
    if (granted()) mutex_.unlock();
    throw_if_failed();
    return {};
  }

 private:
  Mutex& mutex_;
};

inline Mutex::LockWait Mutex::lock() noexcept {
  return LockWait(*this);
}

inline Mutex::Lock Mutex::try_lock() noexcept {
  if (locked_) return {};
  locked_ = true;
  return Lock(*this);
}

}  // namespace coracle::internals
