// The end of started tasks, and of their handles.
#include "runtime/rank/started.hpp"

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

constexpr const char* kLetGo = "a started task failed, and its handle was let go without done()";

}  // namespace

void StartedState::finish(std::exception_ptr error) noexcept {
  error_ = std::move(error);
  finished_ = true;
  if (waiting_ != nullptr) std::exchange(waiting_, nullptr)->complete();
}

void StartedState::share_with_owner(const std::shared_ptr<StartedState>& state) {
  if (state->finished_) return;
  state->held_ = true;
  state->owner_.spawn(hold(state));
}

Task<> StartedState::hold(std::shared_ptr<StartedState> state) {
  co_await state->scope_.join();
  state->held_ = false;
  if (state->let_go_ && state->error_) std::rethrow_exception(state->take_error());
}

void StartedState::let_go(const Rank* rank) noexcept {
  CORACLE_ASSERT(finished_ || held_,
                 "the handle of a started task died while the task runs{}: await done(), or start it in a scope, which "
                 "waits for it",
                 std::uncaught_exceptions() > 0 ? ", since an exception was on its way out" : "");
  let_go_ = true;
  if (!error_ || held_) return;  // hold() will pass it on
  if (rank != nullptr) return report_failure(rank->id(), kLetGo, take_error());
  owner_.fail(take_error());
}

void StartedWait::begin(PromiseBase& coroutine) noexcept {
  CORACLE_ASSERT(state_.waiting_ == nullptr, "two coroutines await the same started task");
  state_.waiting_ = this;
  suspend(coroutine, false);
  if (const std::error_code& reason = coroutine.scope().cancelled()) state_.scope_.cancel(reason);
}

Scope& scope_of_program(Rank& rank) noexcept {
  return rank.loop().root_scope();
}

}  // namespace coracle::internals
