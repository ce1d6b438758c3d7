// Scopes: spawning, cancelling, joining; and the end of a spawned or late task.
#include "runtime/core/scope.hpp"

#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/events.hpp"

namespace coracle::internals {

namespace {

/// While a task is started inside another, events are the new one's.
class TaskOfEvents {
 public:
  TaskOfEvents(Events& events, const PromiseBase& started) noexcept : events_(events), starter_(events.task()) {
    events_.enter(started.task());
  }
  ~TaskOfEvents() { events_.enter(starter_); }
  TaskOfEvents(const TaskOfEvents&) = delete;
  TaskOfEvents& operator=(const TaskOfEvents&) = delete;

 private:
  Events& events_;
  const std::uint64_t starter_;
};

[[gnu::cold]] void spawn_as_told(Scheduler& loop, PromiseBase& promise) {
  const TaskOfEvents task(*loop.events(), promise);
  loop.spawn(promise.handle());
}

}  // namespace

Scope::Scope(Scheduler& loop, Scope* parent) noexcept : ScopeLink(Alone{}), loop_(loop) {
  if (parent == nullptr) return;
  insert_before(parent->scopes_);
  cancelled_ = parent->cancelled_;
}

Scope::~Scope() {
  CORACLE_ASSERT(running_ == 0, "a Scope ended with {} children still running: await join(), or use with_scope()",
                 running_);
  unlink();
}

void Scope::spawn(Task<void> child) {
  auto handle = child.release();
  CORACLE_ASSERT(handle, "an empty Task was spawned");
  PromiseBase& promise = handle.promise();
  promise.loop_ = &loop_;
  promise.scope_ = this;
  promise.parent_ = nullptr;
  promise.mode_ = PromiseBase::Mode::spawned;
  ++running_;
  try {
    if (loop_.events() == nullptr) [[likely]]
      loop_.spawn(handle);
    else
      spawn_as_told(loop_, promise);
  } catch (...) {  // no memory to defer it: it has not begun
    --running_;
    handle.destroy();
    throw;
  }
}

void Scope::cancel(std::error_code reason) noexcept {
  if (!cancelled_) cancelled_ = reason;
  for (ScopeLink* link = waiters_.next_; link != &waiters_;) {
    ScopeLink* next = link->next_;  // cancel() may unlink this one, and no other
    static_cast<Waiter*>(link)->cancel(reason);
    link = next;
  }
  for (ScopeLink* link = scopes_.next_; link != &scopes_; link = link->next_) static_cast<Scope*>(link)->cancel(reason);
}

void Scope::fail(std::exception_ptr error) noexcept {
  if (report_ != nullptr) {
    if (!cancelled_) report_(error, report_context_);  // after a cancellation errors are what was asked for
  } else if (!error_) {
    error_ = std::move(error);
    if (!cancelled_) cancel();
  }
}

void Scope::child_finished(PromiseBase& child) noexcept {
  if (child.error_) [[unlikely]] {
    std::exception_ptr error = std::move(child.error_);
    child.handle().destroy();
    fail(std::move(error));
  } else {
    child.handle().destroy();
  }
  if (--running_ == 0 && join_ != nullptr) std::exchange(join_, nullptr)->complete();
}

void Scope::visit(WaiterVisitor& visitor, int depth) const noexcept {
  for (const ScopeLink* link = waiters_.next_; link != &waiters_; link = link->next_)
    visitor.visit(*static_cast<const Waiter*>(link), depth);
  for (const ScopeLink* link = scopes_.next_; link != &scopes_; link = link->next_)
    static_cast<const Scope*>(link)->visit(visitor, depth + 1);
}

void PromiseBase::finished_later() noexcept {
  if (mode_ == Mode::spawned) {
    scope_->child_finished(*this);
  } else {
    loop_->resume_next(parent_->handle());
  }
}

[[gnu::cold]] void Scheduler::resume_as_told(std::coroutine_handle<> coroutine) {
  const std::uint64_t before = events_->task();  // of one that has turned the loop itself
  // All coroutines of a loop are tasks.
  events_->enter(std::coroutine_handle<PromiseBase>::from_address(coroutine.address()).promise().task());
  coroutine.resume();
  events_->enter(before);
}

bool Waiter::suspend(PromiseBase& coroutine, bool interruptible) noexcept {
  Scope& scope = coroutine.scope();
  if (interruptible && scope.cancelled_) {
    set_outcome(scope.cancelled_);
    return false;
  }
  coroutine_ = &coroutine;
  since_ns_ = scope.loop_.now_ns();
  insert_before(scope.waiters_);
  if (Events* events = scope.loop_.events(); events != nullptr) [[unlikely]]
    tell_of_begin(*events);
  return true;
}

namespace {

static_assert(static_cast<int>(WaitKind::inside) + 1 == CORACLE_WAIT_INSIDE);
static_assert(static_cast<int>(WaitKind::receive) + 1 == CORACLE_WAIT_RECEIVE);
static_assert(static_cast<int>(WaitKind::last) + 1 == CORACLE_WAIT_LOSS);

/// Where the program awaits what the library has come to wait for: the innermost of its own places, or else `where`.
[[gnu::cold]] const std::source_location& program_place(Events& events, const std::source_location& where,
                                                        const PromiseBase& coroutine) noexcept {
  if (!events.is_of_library(where)) return where;
  for (const PromiseBase* at = &coroutine; at->parent() != nullptr; at = at->parent())
    if (!events.is_of_library(at->awaited_at())) return at->awaited_at();
  return where;
}

}  // namespace

[[gnu::cold]] void Waiter::tell_of_begin(Events& events) const noexcept {
  coracle_event event = events.event(CORACLE_WAIT_BEGIN);
  event.task = coroutine_->task();
  event.id = reinterpret_cast<std::uint64_t>(this);
  event.what = static_cast<std::uint16_t>(static_cast<int>(detail().kind) + 1);
  event.name = what_;
  if (peer_ >= 0) event.peer = static_cast<std::uint32_t>(peer_);
  event.place = place_of(program_place(events, where_, *coroutine_));
  events.tell(event);
}

[[gnu::cold]] void Waiter::tell_of_end(Events& events, const PromiseBase& coroutine) const noexcept {
  coracle_event event = events.event(CORACLE_WAIT_END);
  event.task = coroutine.task();
  event.id = reinterpret_cast<std::uint64_t>(this);
  events.tell(event);
}

void Waiter::complete() noexcept {
  CORACLE_ASSERT(coroutine_ != nullptr, "{} completed twice, or while nobody waits for it", what_);
  unlink();
  PromiseBase* coroutine = std::exchange(coroutine_, nullptr);
  if (Events* events = coroutine->loop().events(); events != nullptr) [[unlikely]]
    tell_of_end(*events, *coroutine);
  if (coroutine->is_noted()) return static_cast<NotedScope&>(coroutine->scope()).note_end();
  coroutine->loop().ready(coroutine->handle());
}

void Waiter::throw_failure() const {
  throw Error::of_operation(outcome(), what_, -1, peer_, "");
}

Task<> run_in_scope(std::unique_ptr<ScopeBody> body) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  scope.spawn(body->run(scope));
  co_await scope.join();
}

namespace {

Task<> run_then_cancel(Task<> body, Scope& services, bool& ended) {
  co_await body;
  ended = !services.error();
  services.cancel();
}

}  // namespace

Task<> run_with_services(std::unique_ptr<ScopeBody> body) {
  PromiseBase& self = co_await this_coroutine();
  Scope services(self.loop(), &self.scope());
  bool ended = false;
  services.spawn(run_then_cancel(body->run(services), services, ended));
  const std::exception_ptr error = co_await join_quietly(services);
  if (error && !ended) std::rethrow_exception(error);
}

Task<std::exception_ptr> join_quietly(Scope& scope) {
  std::exception_ptr error;
  try {
    co_await scope.join();
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

}  // namespace coracle::internals
