// Handles: operations kept longer than one await. An explicit Handle (nb), the implicit ones of a rank (nbi), and
// access regions, which gather the implicit operations of a stretch of program. In the manner of GASNet's extended API.
#pragma once

#include <string>
#include <utility>

#include "runtime/core/frame_pool.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals {

/// Operations on the way, and the one coroutine that waits until none is left.
class OperationGroup final : public OperationOwner {
 public:
  explicit OperationGroup(RankCore& core) noexcept;
  ~OperationGroup();
  OperationGroup(const OperationGroup&) = delete;
  OperationGroup& operator=(const OperationGroup&) = delete;

  /// Starts a copy of `operation`. Nothing is allocated when it finishes at once.
  void start(Operation& operation);
  /// A copy of `operation` that counts as being in flight until somebody calls its finish().
  Operation& keep(const Operation& operation);
  std::size_t pending() const noexcept { return pending_; }

  /// `co_await group.done();` throws the first failure since the last time.
  class [[nodiscard]] Done final : public Waiter {
   public:
    explicit Done(OperationGroup& group) noexcept : Waiter("operations"), group_(group) {}
    WaitDetail detail() const noexcept override { return {WaitKind::operation}; }
    bool await_ready() const noexcept { return group_.pending_ == 0; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      CORACLE_ASSERT(group_.waiting_ == nullptr, "two coroutines await the same operations");
      group_.waiting_ = this;
      suspend(self, false);  // drains: the operations own their buffers
    }
    void await_resume() const { group_.throw_first_failure(); }

   private:
    friend class OperationGroup;
    OperationGroup& group_;
  };
  Done done() noexcept { return Done(*this); }

 private:
  struct Failure {
    std::error_code code;
    const char* what;
    int peer;
    std::string detail;
  };

  void finished(Operation& operation) noexcept override;
  void note_failure(const Operation& operation) noexcept;
  void throw_first_failure();

  RankCore& core_;
  std::size_t pending_ = 0;
  Done* waiting_ = nullptr;
  std::unique_ptr<Failure> failure_;
};

/// An explicit handle: `Handle put = self.put_nb(...); ... co_await put.done();` Must be awaited before it dies, unless
/// the operation has finished. The buffers belong to the operation until then.
class [[nodiscard]] Handle {
 public:
  explicit Handle(RankCore& core);
  explicit Handle(std::unique_ptr<OperationGroup> group) noexcept : group_(std::move(group)) {}
  bool finished() const noexcept { return group_->pending() == 0; }
  OperationGroup::Done done() noexcept { return group_->done(); }

 private:
  friend class Rank;
  std::unique_ptr<OperationGroup> group_;
};

}  // namespace coracle::internals
