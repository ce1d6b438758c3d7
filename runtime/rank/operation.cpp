// What tools are told of operations.
#include "runtime/rank/operation.hpp"

#include "runtime/core/events.hpp"

namespace coracle::internals {
namespace {

static_assert(static_cast<int>(Operation::Verb::put) == CORACLE_PUT);
static_assert(static_cast<int>(Operation::Verb::get) == CORACLE_GET);
static_assert(static_cast<int>(Operation::Verb::fetch_add) == CORACLE_FETCH_ADD);
static_assert(static_cast<int>(Operation::Verb::compare_swap) == CORACLE_COMPARE_SWAP);
static_assert(static_cast<int>(Operation::Verb::modify) == CORACLE_MODIFY);
static_assert(static_cast<int>(Operation::Verb::request) == CORACLE_REQUEST);

coracle_event event_of(const Operation& operation, const Events& events, coracle_event_kind kind) noexcept {
  coracle_event event = events.event(kind);
  event.id = reinterpret_cast<std::uint64_t>(&operation);
  event.what = static_cast<std::uint16_t>(operation.verb);
  event.peer = static_cast<std::uint32_t>(operation.peer());
  return event;
}

}  // namespace

[[gnu::cold]] void Operation::begin_telling(Events& events) noexcept {
  is_told_ = true;
  events_ = &events;
  coracle_event event = event_of(*this, events, CORACLE_OPERATION_BEGIN);
  event.name = what();
  event.bytes = is_atomic() ? width : bytes;
  event.number = signal_add != 0 ? 1 : 0;
  events.tell(event);
}

[[gnu::cold]] void Operation::end_telling() noexcept {
  if (!is_told_) return;
  is_told_ = false;
  coracle_event event = event_of(*this, *events_, CORACLE_OPERATION_END);
  event.number = failed() ? 1 : 0;
  events_->tell(event);
}

}  // namespace coracle::internals
