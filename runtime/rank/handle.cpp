// Starting and finishing operations that nobody awaits directly.
#include "runtime/rank/handle.hpp"

#include <new>

#include "runtime/core/error.hpp"

namespace coracle::internals {

OperationGroup::OperationGroup(RankCore& core) noexcept : core_(core) {}

OperationGroup::~OperationGroup() {
  CORACLE_ASSERT(pending_ == 0, "{} operations are still in flight: await them first", pending_);
}

void OperationGroup::start(Operation& operation) {
  if (core_.finishes_at_once(operation)) {
    core_.start(operation);  // its place on the caller's stack will do
    if (operation.failed()) note_failure(operation);
    return;
  }
  core_.start(keep(operation));
}

Operation& OperationGroup::keep(const Operation& operation) {
  auto* kept = new (FramePool::allocate(sizeof(Operation)))
      Operation(operation.verb, operation.what(), static_cast<std::uint32_t>(operation.peer()));
  kept->local = operation.local;
  kept->bytes = operation.bytes;
  kept->remote = operation.remote;
  kept->signal_add = operation.signal_add;
  if (operation.signal_add > 0) kept->signal = operation.signal;
  kept->set_owner(this);
  ++pending_;
  return *kept;
}

void OperationGroup::finished(Operation& operation) noexcept {
  if (operation.failed()) note_failure(operation);
  operation.Operation::~Operation();
  FramePool::release(&operation, sizeof(Operation));
  if (--pending_ == 0 && waiting_ != nullptr) std::exchange(waiting_, nullptr)->complete();
}

void OperationGroup::note_failure(const Operation& operation) noexcept {
  if (failure_) return;
  failure_ = std::make_unique<Failure>(
      Failure{operation.outcome(), operation.what(), operation.peer(), core_.describe_failure(operation)});
}

void OperationGroup::throw_first_failure() {
  if (!failure_) return;
  const std::unique_ptr<Failure> failure = std::move(failure_);
  throw Error::of_operation(failure->code, failure->what, static_cast<int>(core_.id()), failure->peer, failure->detail);
}

Handle::Handle(RankCore& core) : group_(std::make_unique<OperationGroup>(core)) {}

}  // namespace coracle::internals
