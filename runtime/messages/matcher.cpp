// A hash table by linear probing. Receives of all kinds share one, since their keys differ; a message asks for each
// kind of which some wait.
#include "runtime/messages/matcher.hpp"

#include <utility>

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

KeyedQueues::KeyedQueues() : buckets_(16) {}

std::size_t KeyedQueues::hash(const Envelope& key) noexcept {
  // Odd constants of the usual mixers (splitmix64, xxHash): tags and places often count up.
  std::uint64_t mixed =
      key.tag * 0x9E3779B97F4A7C15 + (std::uint64_t{key.team} << 32 | key.source) * 0xC2B2AE3D27D4EB4F;
  mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9;
  return mixed ^ mixed >> 32;
}

std::size_t KeyedQueues::look_up(const Envelope& key) const noexcept {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t place = hash(key) & mask;
  while (buckets_[place].head != nullptr && buckets_[place].key != key) place = (place + 1) & mask;
  return latest_ = place;
}

QueueLink* KeyedQueues::front(const Envelope& key) const noexcept {
  return buckets_[place_of(key)].head;
}

void KeyedQueues::append_elsewhere(const Envelope& key, QueueLink& link) {
  std::size_t place = place_of(key);
  if (buckets_[place].head == nullptr) {
    if (2 * (used_ + 1) > buckets_.size()) {
      grow();
      place = place_of(key);
    }
    ++used_;
    buckets_[place].key = key;
    buckets_[place].head = &link;
  } else {
    buckets_[place].tail->next = &link;
  }
  link.previous = std::exchange(buckets_[place].tail, &link);
  link.next = nullptr;
}

QueueLink* KeyedQueues::take_front(const Envelope& key) noexcept {
  const std::size_t place = place_of(key);
  Bucket& bucket = buckets_[place];
  QueueLink* const front = bucket.head;
  if (front == nullptr) return nullptr;
  bucket.head = front->next;
  if (bucket.head != nullptr)
    bucket.head->previous = nullptr;
  else
    free(place);
  return front;
}

void KeyedQueues::remove(const Envelope& key, QueueLink& link) noexcept {
  const std::size_t place = place_of(key);
  Bucket& bucket = buckets_[place];
  (link.previous != nullptr ? link.previous->next : bucket.head) = link.next;
  (link.next != nullptr ? link.next->previous : bucket.tail) = link.previous;
  if (bucket.head == nullptr) free(place);
}

/// Closes the gap: those behind it that would not be found any more move up.
void KeyedQueues::free(std::size_t place) noexcept {
  const std::size_t mask = buckets_.size() - 1;
  --used_;
  buckets_[place] = Bucket();
  for (std::size_t next = (place + 1) & mask; buckets_[next].head != nullptr; next = (next + 1) & mask) {
    const std::size_t home = hash(buckets_[next].key) & mask;
    if (((next - home) & mask) < ((next - place) & mask)) continue;  // found from its home, without passing the gap
    buckets_[place] = std::exchange(buckets_[next], Bucket());
    place = next;
  }
}

void KeyedQueues::grow() {
  std::vector<Bucket> old(2 * buckets_.size());
  old.swap(buckets_);
  for (const Bucket& bucket : old)
    if (bucket.head != nullptr) buckets_[place_of(bucket.key)] = bucket;
}

void Matcher::grow_line() {
  std::vector<Posted*> longer(2 * line_.size());
  receives_.reserve(longer.size());  // now, when it may fail: who fills the table can't
  for (std::size_t place = 0; place < posted_; ++place) longer[place] = in_line(place);
  line_.swap(longer);
  first_in_line_ = 0;
}

void Matcher::fill_table() noexcept {
  in_table_ = true;
  for (std::size_t place = 0; place < posted_; ++place) append(*in_line(place));
}

void Matcher::post_in_table(Posted& receive) {
  append(receive);
  ++posted_;
}

void Matcher::append(Posted& receive) {
  receive.order = ++order_;
  receives_.append(receive.wanted, receive.link, &receive);
  ++receives_of_[kind_of(receive.wanted)];
}

void Matcher::withdraw_from_table(Posted& receive) noexcept {
  receives_.remove(receive.wanted, receive.link);
  --receives_of_[kind_of(receive.wanted)];
  in_table_ = --posted_ != 0;
}

Matcher::Posted* Matcher::match_in_table(const Envelope& envelope) noexcept {
  if (receives_of_[0] == posted_) [[likely]] {  // none leaves anything open
    QueueLink* const link = receives_.take_front(envelope);
    if (link == nullptr) return nullptr;
    receives_of_[0] = --posted_;
    in_table_ = posted_ != 0;
    return static_cast<Posted*>(link->owner);
  }
  Posted* earliest = nullptr;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (receives_of_[kind] == 0) continue;
    const QueueLink* link = receives_.front(opened(envelope, kind));
    if (link == nullptr) continue;
    auto* receive = static_cast<Posted*>(link->owner);
    if (earliest == nullptr || receive->order < earliest->order) earliest = receive;
  }
  if (earliest != nullptr) withdraw_from_table(*earliest);
  return earliest;
}

void Matcher::keep(Unexpected& message) {
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (sorted_[kind]) messages_[kind].append(opened(message.envelope, kind), message.links[kind], &message);
  message.before = last_;
  message.after = nullptr;
  (last_ != nullptr ? last_->after : first_) = &message;
  last_ = &message;
  ++kept_;
}

void Matcher::remove(Unexpected& message) noexcept {
  (message.before != nullptr ? message.before->after : first_) = message.after;
  (message.after != nullptr ? message.after->before : last_) = message.before;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    if (sorted_[kind]) messages_[kind].remove(opened(message.envelope, kind), message.links[kind]);
  if (--kept_ == 0) sorted_ = {};
}

Matcher::Unexpected* Matcher::find_among_many(const Envelope& wanted) {
  const std::size_t kind = kind_of(wanted);
  if (!sorted_[kind]) sort_for(kind);
  const QueueLink* link = messages_[kind].front(wanted);
  return link == nullptr ? nullptr : static_cast<Unexpected*>(link->owner);
}

void Matcher::sort_for(std::size_t kind) {
  for (Unexpected* message = first_; message != nullptr; message = message->after)
    messages_[kind].append(opened(message->envelope, kind), message->links[kind], message);
  sorted_[kind] = true;
}

}  // namespace coracle::internals
