// CacheTasks: what one cache has under way that nobody awaits, and how it is told that something in it has changed.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::storage {

/// Used by its rank's thread.
class CacheTasks {
 public:
  explicit CacheTasks(Rank& rank) noexcept : rank_(rank) {}

  /// See Scheduler::events.
  Events* events() const noexcept { return rank_.loop().events(); }

  /// `owner`: of this and of all that the tasks use; tasks keep it alive.
  void begin(std::weak_ptr<void> owner) noexcept { owner_ = std::move(owner); }
  /// Starts `task`, which must not throw.
  void spawn(Task<> task) {
    ++under_way_;
    rank_.service().spawn(run(owner_.lock(), *this, std::move(task)));
  }
  /// Until none is left.
  Task<> ended() {
    while (under_way_ > 0) co_await changed();
  }

  /// From now on nothing is sent any more.
  void stop() noexcept { stopped_ = true; }
  bool stopped() const noexcept { return stopped_; }

  /// A frame became free, a put or a task ended, a pin is gone: those who wait look again.
  void notify() noexcept {
    changed_.set();
    changed_.reset();
  }
  Event::Wait changed() noexcept { return uninterrupted(changed_); }

 private:
  static Task<> run(std::shared_ptr<void> owner, CacheTasks& tasks, Task<> task) {
    {
      Task<> mine = std::move(task);  // what it holds goes before the owner: a buffer goes back to its pool
      co_await mine;
    }
    --tasks.under_way_;
    tasks.notify();
    owner.reset();
  }

  Rank& rank_;
  std::weak_ptr<void> owner_;
  Event changed_;
  std::size_t under_way_ = 0;
  bool stopped_ = false;
};

}  // namespace coracle::internals::storage
