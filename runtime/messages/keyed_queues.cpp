// Linear probing.
#include "runtime/messages/keyed_queues.hpp"

#include <utility>

namespace coracle::internals {

KeyedQueues::KeyedQueues() : buckets_(16) {}

std::size_t KeyedQueues::hash(const Envelope& key) noexcept {
  // Odd constants of the usual mixers (splitmix64, xxHash): tags and places often count up.
  std::uint64_t mixed =
      key.tag * 0x9E3779B97F4A7C15 + (std::uint64_t{key.team} << 32 | key.source) * 0xC2B2AE3D27D4EB4F;
  mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9;
  return mixed ^ mixed >> 32;
}

std::size_t KeyedQueues::place_of(const Envelope& key) const noexcept {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t place = hash(key) & mask;
  while (buckets_[place].head != nullptr && buckets_[place].key != key) place = (place + 1) & mask;
  return place;
}

QueueLink* KeyedQueues::front(const Envelope& key) const noexcept {
  return buckets_[place_of(key)].head;
}

void KeyedQueues::append(const Envelope& key, QueueLink& link) {
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

}  // namespace coracle::internals
