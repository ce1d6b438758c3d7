// Receives of all kinds share one table, since their keys differ; a message asks for each kind of which some wait.
#include "runtime/messages/matcher.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kOpenTag = 1;
constexpr std::size_t kOpenSource = 2;

std::size_t kind_of(const Envelope& wanted) noexcept {
  return (wanted.tag == kAnyTag ? kOpenTag : 0) | (wanted.source == kAnySource ? kOpenSource : 0);
}

/// As a receive of this kind that accepts it would be keyed.
Envelope opened(Envelope envelope, std::size_t kind) noexcept {
  if ((kind & kOpenTag) != 0) envelope.tag = kAnyTag;
  if ((kind & kOpenSource) != 0) envelope.source = kAnySource;
  return envelope;
}

}  // namespace

void Matcher::post_beside_others(Posted& receive) {
  if (only_ != nullptr) append(*std::exchange(only_, nullptr));
  append(receive);
}

void Matcher::append(Posted& receive) {
  receive.order = ++order_;
  receives_.append(receive.wanted, receive.link);
  ++receives_of_[kind_of(receive.wanted)];
}

void Matcher::remove(Posted& receive) noexcept {
  receives_.remove(receive.wanted, receive.link);
  --receives_of_[kind_of(receive.wanted)];
}

Matcher::Posted* Matcher::match_many(const Envelope& envelope) noexcept {
  Posted* earliest = nullptr;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (receives_of_[kind] == 0) continue;
    const QueueLink* link = receives_.front(opened(envelope, kind));
    if (link == nullptr) continue;
    auto* receive = static_cast<Posted*>(link->owner);
    if (earliest == nullptr || receive->order < earliest->order) earliest = receive;
  }
  if (earliest != nullptr) withdraw(*earliest);
  return earliest;
}

void Matcher::keep(Unexpected& message) {
  message.before = last_;
  message.after = nullptr;
  (last_ != nullptr ? last_->after : first_) = &message;
  last_ = &message;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (sorted_[kind]) messages_[kind].append(opened(message.envelope, kind), message.links[kind]);
}

void Matcher::remove(Unexpected& message) noexcept {
  (message.before != nullptr ? message.before->after : first_) = message.after;
  (message.after != nullptr ? message.after->before : last_) = message.before;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (sorted_[kind]) messages_[kind].remove(opened(message.envelope, kind), message.links[kind]);
}

Matcher::Unexpected* Matcher::find_among_many(const Envelope& wanted) {
  const std::size_t kind = kind_of(wanted);
  if (!sorted_[kind]) sort_for(kind);
  const QueueLink* link = messages_[kind].front(wanted);
  return link == nullptr ? nullptr : static_cast<Unexpected*>(link->owner);
}

void Matcher::sort_for(std::size_t kind) {
  sorted_[kind] = true;
  for (Unexpected* message = first_; message != nullptr; message = message->after)
    messages_[kind].append(opened(message->envelope, kind), message->links[kind]);
}

}  // namespace coracle::internals
