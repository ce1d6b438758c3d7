// Semaphore: so many coroutines of one rank at a time.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/core/wait_queue.hpp"

namespace coracle::internals {

/// A number of permits that coroutines of one rank take and give back, such as how many transfers may be under way.
/// First come, first served: who asks for many is not overtaken by those who ask for few. Loop's thread only.
///
///     auto permit = co_await semaphore.acquire();
class Semaphore {
 public:
  /// `what`: a literal that hang reports and errors say for it.
  explicit Semaphore(std::size_t permits, const char* what = "semaphore") noexcept : free_(permits), waits_(what) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  ~Semaphore() = default;  // with waits it would be a mistake, which WaitQueue finds

  class Permit;
  class AcquireWait;
  /// Waits until `count` permits are free. Throws Error when the coroutine is cancelled before; then it has taken none.
  AcquireWait acquire(std::size_t count = 1) noexcept;
  /// An empty Permit when so many are not free, or others wait.
  [[nodiscard]] Permit try_acquire(std::size_t count = 1) noexcept;
  /// Adds `count` permits: of those that have been kept (Permit::keep), or new ones.
  void release(std::size_t count = 1) noexcept {
    CORACLE_ASSERT(free_ + count >= free_, "'{}': {} permits released, while {} are free", waits_.what(), count, free_);
    free_ += count;
    serve();
  }
  /// Permits that nobody has.
  std::size_t available() const noexcept { return free_; }

 private:
  void serve() noexcept;

  std::size_t free_;
  WaitQueue waits_;
};

/// Gives its permits back when it dies, or before.
class [[nodiscard]] Semaphore::Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept
      : semaphore_(std::exchange(other.semaphore_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Permit& operator=(Permit&& other) noexcept {
    if (this != &other) {
      release();
      semaphore_ = std::exchange(other.semaphore_, nullptr);
      count_ = std::exchange(other.count_, 0);
    }
    return *this;
  }
  ~Permit() { release(); }

  /// Whether it holds any.
  explicit operator bool() const noexcept { return semaphore_ != nullptr; }
  std::size_t count() const noexcept { return count_; }
  void release() noexcept {
    if (Semaphore* semaphore = std::exchange(semaphore_, nullptr)) semaphore->release(std::exchange(count_, 0));
  }
  /// They stay taken: somebody else will call Semaphore::release(). Gives how many.
  std::size_t keep() noexcept {
    semaphore_ = nullptr;
    return std::exchange(count_, 0);
  }

 private:
  friend class Semaphore;
  Permit(Semaphore& semaphore, std::size_t count) noexcept : semaphore_(&semaphore), count_(count) {}
  Semaphore* semaphore_ = nullptr;
  std::size_t count_ = 0;
};

class [[nodiscard]] Semaphore::AcquireWait final : public QueuedWait {
 public:
  AcquireWait(Semaphore& semaphore, std::size_t count) noexcept
      : QueuedWait(semaphore.waits_), semaphore_(semaphore), count_(count) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    if (begin(self.promise(), semaphore_.waits_.empty() && count_ <= semaphore_.free_)) return true;
    if (granted()) semaphore_.free_ -= count_;
    return false;
  }
  [[nodiscard]] Permit await_resume() {
    if (keeps()) return Permit(semaphore_, count_);
    // Also one that was not granted: it may have kept those behind it from what they want.
    semaphore_.release(granted() ? count_ : 0);
    throw_if_failed();
    return {};
  }

 private:
  friend class Semaphore;
  Semaphore& semaphore_;
  std::size_t count_;
};

inline void Semaphore::serve() noexcept {
  while (!waits_.empty()) {
    const std::size_t count = static_cast<AcquireWait&>(waits_.front()).count_;
    if (count > free_) return;
    free_ -= count;
    waits_.grant();
  }
}

inline Semaphore::AcquireWait Semaphore::acquire(std::size_t count) noexcept {
  return {*this, count};
}

inline Semaphore::Permit Semaphore::try_acquire(std::size_t count) noexcept {
  if (!waits_.empty() || count > free_) return {};
  free_ -= count;
  return {*this, count};
}

}  // namespace coracle::internals
