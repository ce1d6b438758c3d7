#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

const char* to_string(PageState state) noexcept {
  static constexpr std::array<const char*, kPageStates> kNames = {"I",  "S",  "O",  "M",   "IS",
                                                                  "IM", "SM", "OM", "MIA", "IIA"};
  return kNames[static_cast<std::size_t>(state)];
}

const char* to_string(Verb verb) noexcept {
  static constexpr std::array<const char*, kVerbs> kNames = {"read",
                                                             "write",
                                                             "put",
                                                             "forward-shared",
                                                             "forward-exclusive",
                                                             "invalidate",
                                                             "adopt",
                                                             "grant",
                                                             "put-ack",
                                                             "source-lost",
                                                             "failed",
                                                             "data",
                                                             "nack",
                                                             "ack",
                                                             "done"};
  return kNames[static_cast<std::size_t>(verb)];
}

bool CachePage::readable() const noexcept {
  switch (state_) {
    case PageState::S:
    case PageState::O:
    case PageState::M:
    case PageState::SM:
    case PageState::OM:
      return true;
    case PageState::MIA:
      return keep_;  // an evicted one goes with its put-ack: nobody may begin to use it
    default:
      return false;
  }
}

bool CachePage::dirty() const noexcept {
  return state_ == PageState::O || state_ == PageState::M || state_ == PageState::OM || state_ == PageState::MIA;
}

bool CachePage::wants(const PageMessage& data) const noexcept {
  const bool waits = state_ == PageState::IS || (state_ == PageState::IM && !whole_ && !has_data_);
  return waits && data.number == number_ && data.step > refused_step_;
}

bool CachePage::expects(const PageMessage& message) const noexcept {
  const bool asks = state_ == PageState::IS || state_ == PageState::IM;
  switch (message.verb) {
    case Verb::forward_shared:
    case Verb::forward_exclusive:
    case Verb::source_lost:
    case Verb::data:
      return true;
    case Verb::invalidate:
      return state_ != PageState::M || message.whole;  // others are told to forward: who writes a part needs M's data
    case Verb::adopt:
      return !dirty();
    case Verb::grant:
      return message.number == number_ &&
             (state_ == PageState::SM || state_ == PageState::OM || (state_ == PageState::IM && !granted_));
    case Verb::put_ack:
      return message.number == number_ && (state_ == PageState::MIA || state_ == PageState::IIA);
    case Verb::failed:
      return message.number == number_ && asks;
    default:
      return false;
  }
}

CacheActions CachePage::on_cache_request(CacheRequest request, std::uint32_t number) {
  CacheActions actions;
  switch (request) {
    case CacheRequest::read:
      want_read(actions, number);
      break;
    case CacheRequest::write:
      want_write(actions, number, false);
      break;
    case CacheRequest::write_whole:
      want_write(actions, number, true);
      break;
    case CacheRequest::evict:
      if (state_ == PageState::S) {
        state_ = PageState::I;
        actions.add(CacheAction::Kind::dropped);
      }
      actions.ready = state_ == PageState::I;
      want_put(actions, number, false);
      break;
    case CacheRequest::clean:
      actions.ready = !dirty() && state_ != PageState::IIA;
      want_put(actions, number, true);
      break;
  }
  return actions;
}

void CachePage::ask(CacheActions& actions, PageState next, PageMessage message) {
  state_ = next;
  number_ = message.number;
  refused_step_ = 0;
  has_data_ = granted_ = false;
  actions.add(CacheAction::Kind::send_home, kNoCache, message);
}

void CachePage::want_read(CacheActions& actions, std::uint32_t number) {
  actions.ready = readable();
  if (state_ == PageState::I) ask(actions, PageState::IS, {.verb = Verb::read, .number = number});
}

void CachePage::want_write(CacheActions& actions, std::uint32_t number, bool whole) {
  actions.ready = writable();
  const bool has_copy = state_ == PageState::S || state_ == PageState::O;
  if (!has_copy && state_ != PageState::I) return;
  const PageState next = state_ == PageState::S   ? PageState::SM
                         : state_ == PageState::O ? PageState::OM
                                                  : PageState::IM;
  ask(actions, next, {.verb = Verb::write, .has_copy = has_copy, .whole = whole, .number = number});
  whole_ = whole;
}

void CachePage::want_put(CacheActions& actions, std::uint32_t number, bool keep) {
  if (state_ != PageState::O && state_ != PageState::M) return;
  ask(actions, PageState::MIA, {.verb = Verb::put, .keep = keep, .number = number});
  keep_ = keep;
}

CacheActions CachePage::on_message(const PageMessage& message) {
  CORACLE_ASSERT(expects(message), "{} for a page in state {}", to_string(message.verb), to_string(state_));
  CacheActions actions;
  switch (message.verb) {
    case Verb::forward_shared:
    case Verb::forward_exclusive:
      forward(actions, message);
      break;
    case Verb::invalidate:
      forget(actions);
      actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = Verb::ack, .step = message.step});
      break;
    case Verb::adopt:
      adopt(actions, message);
      break;
    case Verb::grant:
      granted_ = true;
      write_if_complete(actions);
      break;
    case Verb::put_ack:
      after_put(actions, message);
      break;
    case Verb::source_lost:
      if (wants({.verb = Verb::data, .number = message.number, .step = message.step})) {
        refused_step_ = message.step;
        actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = Verb::nack, .step = message.step});
      }
      break;
    case Verb::failed:
      state_ = PageState::I;
      actions.add(CacheAction::Kind::failed, kNoCache, message);
      break;
    default:
      take(actions, message);
  }
  return actions;
}

void CachePage::forward(CacheActions& actions, const PageMessage& message) {
  // Not readable(): a page that is being evicted is still the only copy until its put was acknowledged.
  const bool has_copy = readable() || state_ == PageState::MIA;
  if (!has_copy) {
    actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = Verb::nack, .step = message.step});
    return;
  }
  actions.add(CacheAction::Kind::send_data, message.requester,
              {.verb = Verb::data, .requester = message.requester, .number = message.number, .step = message.step});
  if (message.verb == Verb::forward_exclusive) {
    forget(actions);
  } else if (state_ == PageState::M) {
    state_ = PageState::O;
    actions.add(CacheAction::Kind::lost_write_right);
  }
}

void CachePage::forget(CacheActions& actions) {
  switch (state_) {
    case PageState::S:
    case PageState::O:
    case PageState::M:
      state_ = PageState::I;
      actions.add(CacheAction::Kind::dropped);
      break;
    case PageState::SM:
    case PageState::OM:
      state_ = PageState::IM;
      actions.add(CacheAction::Kind::lost_copy);
      break;
    case PageState::MIA:
      state_ = PageState::IIA;
      actions.add(CacheAction::Kind::lost_copy);
      break;
    default:
      break;
  }
}

void CachePage::adopt(CacheActions& actions, const PageMessage& message) {
  const bool can = state_ == PageState::S || state_ == PageState::SM;
  if (can) state_ = state_ == PageState::S ? PageState::O : PageState::OM;
  actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = can ? Verb::ack : Verb::nack, .step = message.step});
}

void CachePage::take(CacheActions& actions, const PageMessage& message) {
  if (!wants(message)) return;
  if (state_ == PageState::IS) {
    state_ = PageState::S;
    actions.add(CacheAction::Kind::became_readable);
    actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = Verb::done, .number = number_});
    return;
  }
  has_data_ = true;
  write_if_complete(actions);
}

void CachePage::write_if_complete(CacheActions& actions) {
  if (!granted_ || (state_ == PageState::IM && !has_data_ && !whole_)) return;
  state_ = PageState::M;
  actions.add(CacheAction::Kind::became_writable);
  actions.add(CacheAction::Kind::send_home, kNoCache, {.verb = Verb::done, .number = number_});
}

void CachePage::after_put(CacheActions& actions, const PageMessage& message) {
  if (state_ == PageState::MIA && message.failure != PageFailure::none) {
    state_ = PageState::O;  // not M: somebody may have got a copy meanwhile
    actions.add(CacheAction::Kind::put_failed, kNoCache, message);
  } else if (state_ == PageState::MIA && keep_) {
    state_ = PageState::S;
    actions.add(CacheAction::Kind::cleaned);
  } else {
    state_ = PageState::I;
    actions.add(CacheAction::Kind::dropped);
  }
}

}  // namespace coracle::internals::storage
