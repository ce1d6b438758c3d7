// Matcher: brings messages and receives of one rank together by the rules of MPI: a message goes to the receive that
// was posted first of those that accept it, and a receive takes the message that came first of those that it accepts.
// So of two messages of one sender that one receive would accept, the first sent is received first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/messages/pending.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// For each envelope a queue, first in, first out, of things that live elsewhere. Finding, adding and taking out cost
/// the same with one of them and with thousands: a hash table with open addressing; keys without a queue take no place.
class KeyedQueues {
 public:
  KeyedQueues();

  bool empty() const noexcept { return used_ == 0; }
  /// Null when there is none.
  QueueLink* front(const Envelope& key) const noexcept;
  void append(const Envelope& key, QueueLink& link) {
    Bucket& latest = buckets_[latest_];
    if (latest.head == nullptr || latest.key != key) return append_elsewhere(key, link);
    link.previous = std::exchange(latest.tail, &link);
    link.next = nullptr;
    link.previous->next = &link;
  }
  /// Takes it out; null when there is none.
  QueueLink* take_front(const Envelope& key) noexcept;
  /// `link` is in the queue of `key`.
  void remove(const Envelope& key, QueueLink& link) noexcept;
  /// The front of the first queue from `place` on whose owner `is_it()`, or null; `place` is its then. Where it is
  /// taken out, the search goes on from there.
  template <class Predicate>
  QueueLink* find_front(std::size_t& place, Predicate is_it) const noexcept {
    for (; place < buckets_.size(); ++place)
      if (buckets_[place].head != nullptr && is_it(buckets_[place].head->owner)) return buckets_[place].head;
    return nullptr;
  }

 private:
  struct Bucket {
    Envelope key;
    QueueLink* head = nullptr;  // null: free
    QueueLink* tail = nullptr;
  };
  static std::size_t hash(const Envelope& key) noexcept;
  /// Of the key, or where it would go.
  std::size_t place_of(const Envelope& key) const noexcept {
    const Bucket& latest = buckets_[latest_];
    return latest.key == key && latest.head != nullptr ? latest_ : look_up(key);
  }
  std::size_t look_up(const Envelope& key) const noexcept;
  void append_elsewhere(const Envelope& key, QueueLink& link);
  void free(std::size_t place) noexcept;
  void grow();

  std::vector<Bucket> buckets_;  // a power of two, at least half of them free
  std::size_t used_ = 0;
  mutable std::size_t latest_ = 0;  // the place that was found last: messages mostly come in a row
};

/// Knows nothing of what messages contain. Rank's thread only.
class Matcher {
 public:
  /// How much of an envelope a receive leaves open: bit 0 its tag, bit 1 its source.
  static constexpr std::size_t kKinds = 4;

  using Posted = PostedReceive;
  /// A message that came before its receive. Lives with its owner.
  struct Unexpected {
    explicit Unexpected(const Envelope& of) noexcept
        : envelope(of), links{QueueLink(this), QueueLink(this), QueueLink(this), QueueLink(this)} {}
    Envelope envelope;
    std::array<QueueLink, kKinds> links;
    Unexpected* before = nullptr;  // in the order of their coming
    Unexpected* after = nullptr;
  };

  void post(Posted& receive) {
    if (posted_++ == 0) [[likely]]
      only_ = &receive;
    else
      post_beside_others(receive);
  }
  /// It waits no longer.
  void withdraw(Posted& receive) noexcept {
    --posted_;
    if (only_ != nullptr)
      only_ = nullptr;
    else
      remove(receive);
  }
  /// For a message that has come: the receive that takes it, which waits no longer; or null.
  Posted* match(const Envelope& envelope) noexcept {
    if (only_ == nullptr) return posted_ == 0 ? nullptr : match_many(envelope);
    if (!accepts(only_->wanted, envelope)) return nullptr;
    posted_ = 0;
    return std::exchange(only_, nullptr);
  }
  /// A receive that waits and that `is_it()`, or null. All with the same envelope must be alike in that. The search
  /// begins with `place` 0; when what it has found is withdrawn, it can go on.
  template <class Predicate>
  Posted* find_posted(std::size_t& place, Predicate is_it) const noexcept {
    if (only_ != nullptr) return is_it(*only_) ? only_ : nullptr;
    QueueLink* link =
        receives_.find_front(place, [&is_it](const void* owner) { return is_it(*static_cast<const Posted*>(owner)); });
    return link == nullptr ? nullptr : static_cast<Posted*>(link->owner);
  }
  static bool accepts(const Envelope& wanted, const Envelope& envelope) noexcept {
    return wanted.team == envelope.team && (wanted.source == envelope.source || wanted.source == kAnySource) &&
           (wanted.tag == envelope.tag || wanted.tag == kAnyTag);
  }

  /// Of a message that no receive has taken.
  void keep(Unexpected& message);
  void remove(Unexpected& message) noexcept;
  /// The first that a receive accepts, or null. It stays. Not const: the first who leaves an envelope open in some way
  /// has the messages sorted for that.
  Unexpected* find(const Envelope& wanted) { return first_ == nullptr ? nullptr : find_among_many(wanted); }

  std::size_t posted() const noexcept { return posted_; }
  /// In the order of their coming, by `after`.
  Unexpected* first() const noexcept { return first_; }

 private:
  void post_beside_others(Posted& receive);
  void append(Posted& receive);
  void remove(Posted& receive) noexcept;
  Posted* match_many(const Envelope& envelope) noexcept;
  Unexpected* find_among_many(const Envelope& wanted);
  void sort_for(std::size_t kind);

  Posted* only_ = nullptr;  // the one receive that waits, kept out of the table; null when there are more
  KeyedQueues receives_;
  std::array<std::size_t, kKinds> receives_of_{};  // how many wait
  std::size_t posted_ = 0;
  std::uint64_t order_ = 0;
  // Messages are in the queues of a kind only once a receive of that kind has asked: most programs have one kind.
  std::array<KeyedQueues, kKinds> messages_;
  std::array<bool, kKinds> sorted_{true, false, false, false};
  Unexpected* first_ = nullptr;
  Unexpected* last_ = nullptr;
};

}  // namespace coracle::internals
