// The home's side of the protocol of a page.
#include <algorithm>

#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

void HomePage::send(HomeActions& actions, CacheId to, const PageMessage& message) {
  actions.push_back({HomeAction::Kind::send, to, message});
}

PageMessage HomePage::about_request(Verb verb) const noexcept {
  return {.verb = verb, .requester = current_.from, .number = current_.message.number, .step = step_};
}

bool HomePage::expects(CacheId from, const PageMessage& message) const noexcept {
  switch (message.verb) {
    case Verb::read:
    case Verb::write:
    case Verb::put: {
      const auto of_same = [from](const Request& request) { return request.from == from; };
      return !of_same(current_) && std::none_of(waiting_.begin(), waiting_.end(), of_same);
    }
    case Verb::nack: {  // also late ones, of transactions whose requester died; but an owner has its copy
      const bool answers = supply_ == Supply::holder && from == source_ && message.step == step_;
      return !answers || (phase_ == Phase::reading ? from != owner_ : ssd_current_);
    }
    case Verb::ack:
      return phase_ == Phase::adopting ? from == source_ && message.step == step_
                                       : std::find(awaited_.begin(), awaited_.end(), from) != awaited_.end();
    case Verb::done:
      return (phase_ == Phase::reading || phase_ == Phase::writing) && from == requester() &&
             message.number == current_.message.number;
    default:
      return false;
  }
}

void HomePage::on_message(CacheId from, const PageMessage& message, HomeActions& actions) {
  CORACLE_ASSERT(expects(from, message), "{} from {} to the home of a page owned by {}", to_string(message.verb), from,
                 owner_);
  switch (message.verb) {
    case Verb::nack:
      on_nack(from, message, actions);
      break;
    case Verb::ack:
      on_ack(from, actions);
      break;
    case Verb::done:
      on_done(from);
      break;
    default:
      waiting_.push_back({from, message});
  }
  start_next(actions);
}

void HomePage::start_next(HomeActions& actions) {
  while (phase_ == Phase::idle && (orphaned_ || !waiting_.empty())) {
    if (orphaned_) {
      phase_ = Phase::adopting;
      adopt_next(actions);
      continue;
    }
    current_ = waiting_.front();
    waiting_.erase(waiting_.begin());
    begin(actions);
  }
}

void HomePage::begin(HomeActions& actions) {
  if (current_.message.verb == Verb::read)
    begin_read(actions);
  else if (current_.message.verb == Verb::write)
    begin_write(actions);
  else
    begin_put(actions);
}

void HomePage::finish() noexcept {
  phase_ = Phase::idle;
  supply_ = Supply::none;
  current_ = {};
  source_ = kNoCache;
  awaited_.clear();
  granted_ = false;
  requester_dead_ = false;
}

void HomePage::fail(HomeActions& actions, PageFailure failure) {
  PageMessage message = about_request(Verb::failed);
  message.failure = failure;
  send(actions, requester(), message);
  finish();
}

void HomePage::on_closed(HomeActions& actions) {
  const auto refuse = [&actions](const Request& request, bool data_may_come) {
    PageMessage message;
    message.verb = request.message.verb == Verb::put ? Verb::put_ack : Verb::failed;
    message.number = request.message.number;
    message.keep = message.verb == Verb::failed && data_may_come;
    message.failure = PageFailure::closed;
    send(actions, request.from, message);
  };
  if (phase_ != Phase::idle && current_.from != kNoCache && !requester_dead_) refuse(current_, true);
  for (const Request& each : waiting_) refuse(each, false);
  waiting_.clear();
}

bool HomePage::remove_sharer(CacheId node) noexcept {
  return std::erase(sharers_, node) > 0;
}

// The owner has died. A sharer that still has its copy has the same content: it becomes the owner, so that the copy can
// no more be dropped silently. Only when all have dropped theirs is the page lost.
void HomePage::adopt_next(HomeActions& actions) {
  if (sharers_.empty()) {
    orphaned_ = false;
    lost_ = true;
    finish();
    return;
  }
  source_ = sharers_.back();
  sharers_.pop_back();
  ++step_;
  send(actions, source_, {.verb = Verb::adopt, .step = step_});
}

void HomePage::begin_read(HomeActions& actions) {
  phase_ = Phase::reading;
  remove_sharer(requester());  // it has evicted silently
  if (lost_)
    fail(actions, PageFailure::lost);
  else
    supply_read(actions);
}

void HomePage::supply_read(HomeActions& actions) {
  source_ = owner_;
  if (source_ == kNoCache && cooperative_ && !sharers_.empty()) {
    source_ = sharers_.back();
    sharers_.pop_back();
  }
  if (source_ == kNoCache) {
    from_ssd(actions);
    return;
  }
  supply_ = Supply::holder;
  ++step_;
  send(actions, source_, about_request(Verb::forward_shared));
}

void HomePage::from_ssd(HomeActions& actions) {
  supply_ = Supply::ssd;
  source_ = kNoCache;
  ++step_;
  actions.push_back({HomeAction::Kind::read_ssd, requester(), {}});
}

void HomePage::begin_write(HomeActions& actions) {
  phase_ = Phase::writing;
  const PageMessage& request = current_.message;
  const bool listed = remove_sharer(requester()) || owner_ == requester();
  const bool needs_data = !request.whole && !(request.has_copy && listed);
  if (needs_data && lost_) {
    fail(actions, PageFailure::lost);
    return;
  }
  ssd_current_ = owner_ == kNoCache && !lost_;
  if (owner_ != kNoCache && owner_ != requester()) sharers_.push_back(owner_);
  ++step_;
  if (needs_data) {
    const bool from_holder = !sharers_.empty() && (cooperative_ || owner_ != kNoCache);
    if (from_holder) {
      source_ = sharers_.back();
      sharers_.pop_back();
      supply_ = Supply::holder;
      send(actions, source_, about_request(Verb::forward_exclusive));
    } else {
      from_ssd(actions);
    }
  }
  owner_ = kNoCache;
  awaited_.swap(sharers_);
  PageMessage invalidate = about_request(Verb::invalidate);
  invalidate.whole = request.whole;
  for (const CacheId node : awaited_) send(actions, node, invalidate);
  advance_write(actions);
}

// What became of the page when its requester died: before the grant nothing was written, so that the SSD's copy holds
// where it was current; where it was not, the last copy was on its way to the dead. After the grant the dead may have
// written and may have told others of it: also a current SSD copy would be an old one, then.
void HomePage::advance_write(HomeActions& actions) {
  if (!awaited_.empty() || (requester_dead_ && supply_ == Supply::ssd)) return;
  if (requester_dead_) {
    lost_ = granted_ || !ssd_current_;
    finish();
  } else if (supply_ == Supply::impossible) {
    lost_ = !ssd_current_;
    fail(actions, failure_);
  } else if (!granted_) {
    granted_ = true;
    send(actions, requester(), about_request(Verb::grant));
  }
}

void HomePage::begin_put(HomeActions& actions) {
  phase_ = Phase::putting;
  if (owner_ == requester()) {
    actions.push_back({HomeAction::Kind::write_ssd, requester(), about_request(Verb::put)});
    return;
  }
  // Somebody else has become the owner since, with this copy.
  send(actions, requester(), about_request(Verb::put_ack));
  finish();
}

void HomePage::on_ssd_written(PageFailure failure, HomeActions& actions) {
  CORACLE_ASSERT(phase_ == Phase::putting, "nothing of this page was being written");
  const bool written = failure == PageFailure::none;
  if (written || requester_dead_) owner_ = kNoCache;
  orphaned_ = !written && requester_dead_;
  if (!requester_dead_) {
    if (written && current_.message.keep) sharers_.push_back(requester());
    PageMessage message = about_request(Verb::put_ack);
    message.keep = current_.message.keep;
    message.failure = failure;
    send(actions, requester(), message);
  }
  finish();
  start_next(actions);
}

void HomePage::on_ssd_read(PageFailure failure, HomeActions& actions) {
  CORACLE_ASSERT(supply_ == Supply::ssd, "nothing of this page was being read");
  if (requester_dead_) {
    supply_ = Supply::none;
    if (phase_ == Phase::reading)
      finish();
    else
      advance_write(actions);
  } else if (failure == PageFailure::none) {
    supply_ = Supply::ssd_sent;
    actions.push_back({HomeAction::Kind::send_ssd, requester(), about_request(Verb::data)});
  } else if (phase_ == Phase::reading) {
    fail(actions, failure);
  } else {
    supply_ = Supply::impossible;
    failure_ = failure;
    advance_write(actions);
  }
  start_next(actions);
}

void HomePage::on_nack(CacheId from, const PageMessage& message, HomeActions& actions) {
  if (message.step != step_) return;
  if (phase_ == Phase::adopting) {
    if (from == source_) adopt_next(actions);
    return;
  }
  const bool of_source = supply_ == Supply::holder && from == source_;
  const bool of_requester = supply_ == Supply::unsure && from == requester();
  if (!of_source && !of_requester) return;
  source_ = kNoCache;
  if (phase_ == Phase::writing && ssd_current_) {
    from_ssd(actions);
  } else if (phase_ == Phase::writing) {
    supply_ = Supply::impossible;
    failure_ = PageFailure::lost;
    advance_write(actions);
  } else if (orphaned_) {
    // Again from the start, once there is another owner.
    waiting_.insert(waiting_.begin(), current_);
    finish();
  } else {
    supply_read(actions);
  }
}

void HomePage::on_ack(CacheId from, HomeActions& actions) {
  if (phase_ == Phase::adopting) {
    owner_ = from;
    orphaned_ = false;
    finish();
    return;
  }
  std::erase(awaited_, from);
  advance_write(actions);
}

void HomePage::on_done(CacheId from) {
  if (phase_ == Phase::reading) {
    if (supply_ == Supply::holder && source_ != owner_) sharers_.push_back(source_);
    sharers_.push_back(from);
  } else {
    owner_ = from;
    lost_ = false;
  }
  finish();
}

void HomePage::on_dead(CacheId node, HomeActions& actions) {
  std::erase_if(waiting_, [node](const Request& request) { return request.from == node; });
  remove_sharer(node);
  if (requester() == node) {
    on_requester_dead(actions);
  } else {
    on_source_dead(node, actions);
    if (std::erase(awaited_, node) > 0) advance_write(actions);
  }
  start_next(actions);
}

void HomePage::on_requester_dead(HomeActions& actions) {
  requester_dead_ = true;
  if (phase_ == Phase::putting) return;  // the home may have the page already
  if (phase_ == Phase::reading) {
    if (supply_ == Supply::holder && source_ != owner_) sharers_.push_back(source_);
    if (supply_ != Supply::ssd) finish();
    return;
  }
  if (supply_ == Supply::ssd) granted_ = false;  // without data it has not written
  if (supply_ == Supply::holder) {
    // It will send its only copy to the dead, or has: until it has forgotten it, nobody else may write.
    supply_ = Supply::none;
    awaited_.push_back(source_);
    PageMessage invalidate = about_request(Verb::invalidate);
    send(actions, source_, invalidate);
  }
  advance_write(actions);
}

void HomePage::on_source_dead(CacheId node, HomeActions& actions) {
  if (owner_ == node) {
    owner_ = kNoCache;
    orphaned_ = true;
  }
  if (source_ != node) return;
  if (phase_ == Phase::adopting) {
    adopt_next(actions);
  } else if (supply_ == Supply::holder) {
    // The data may have been sent. Two sources at once would let late data fall into a page that was written since: so
    // the requester is asked first.
    supply_ = Supply::unsure;
    send(actions, requester(), about_request(Verb::source_lost));
  }
}

}  // namespace coracle::internals::storage
