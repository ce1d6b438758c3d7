// Matcher: brings messages and receives of one rank together by the rules of MPI: a message goes to the receive that
// was posted first of those that accept it, and a receive takes the message that came first of those that it accepts.
// So of two messages of one sender that one receive would accept, the first sent is received first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// For each envelope a queue, first in, first out, of things that live elsewhere. Finding, adding and taking out cost
/// the same with one of them and with thousands: a hash table with open addressing; keys without a queue take no place.
class KeyedQueues {
 public:
  KeyedQueues();

  /// Makes room for so many keys, which then can be appended without memory.
  void reserve(std::size_t keys) {
    while (2 * keys > buckets_.size()) grow();
  }
  /// Null when there is none.
  QueueLink* front(const Envelope& key) const noexcept;
  void append(const Envelope& key, QueueLink& link, void* owner) {
    link.owner = owner;
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
  Matcher() : line_(2 * kFew) { receives_.reserve(line_.size()); }

  /// How much of an envelope a receive leaves open: bit 0 its tag, bit 1 its source.
  static constexpr std::size_t kKinds = 4;

  using Posted = PostedReceive;
  /// A message that came before its receive. Lives with its owner.
  struct Unexpected {
    explicit Unexpected(const Envelope& of) noexcept : envelope(of) {}
    Envelope envelope;
    std::array<QueueLink, kKinds> links;
    Unexpected* before = nullptr;  // in the order of their coming
    Unexpected* after = nullptr;
  };

  void post(Posted& receive) {
    if (in_table_) [[unlikely]]
      return post_in_table(receive);
    if (posted_ == line_.size()) [[unlikely]]
      grow_line();
    in_line(posted_++) = &receive;
  }
  /// It waits no longer.
  void withdraw(Posted& receive) noexcept {
    sort_many();
    if (in_table_) return withdraw_from_table(receive);
    std::size_t place = 0;
    while (place < posted_ && in_line(place) != &receive) ++place;
    CORACLE_ASSERT(place < posted_, "a receive that does not wait can't be withdrawn");
    take_of_line(place);
  }
  /// For a message that has come: the receive that takes it, which waits no longer; or null.
  Posted* match(const Envelope& envelope) noexcept {
    if (in_table_) [[unlikely]]
      return match_in_table(envelope);
    const std::size_t looked_at = std::min(posted_, kFew);
    for (std::size_t place = 0; place < looked_at; ++place)
      if (accepts(in_line(place)->wanted, envelope)) return take_of_line(place);
    if (looked_at == posted_) return nullptr;
    fill_table();
    return match_in_table(envelope);
  }
  /// A receive that waits and that `is_it()`, or null. All with the same envelope must be alike in that. The search
  /// begins with `place` 0; when what it has found is withdrawn, it can go on, after sort_many().
  template <class Predicate>
  Posted* find_posted(std::size_t& place, Predicate is_it) const noexcept {
    if (!in_table_) {
      for (; place < posted_; ++place)
        if (is_it(*in_line(place))) return in_line(place);
      return nullptr;
    }
    QueueLink* link =
        receives_.find_front(place, [&is_it](const void* owner) { return is_it(*static_cast<const Posted*>(owner)); });
    return link == nullptr ? nullptr : static_cast<Posted*>(link->owner);
  }
  /// Many receives are in a table from now on, out of which any is soon taken.
  void sort_many() noexcept {
    if (posted_ > kFew && !in_table_) [[unlikely]]
      fill_table();
  }
  static bool accepts(const Envelope& wanted, const Envelope& envelope) noexcept {
    return wanted.team == envelope.team && (wanted.source == envelope.source || wanted.source == kAnySource) &&
           (wanted.tag == envelope.tag || wanted.tag == kAnyTag);
  }

  /// Of a message that no receive has taken.
  void keep(Unexpected& message);
  void remove(Unexpected& message) noexcept;
  /// The first that a receive accepts, or null. It stays. Not const: where there are many, the first who leaves an
  /// envelope open in some way has them sorted for that.
  Unexpected* find(const Envelope& wanted) {
    Unexpected* message = first_;
    for (std::size_t looked_at = 0; message != nullptr && looked_at < kFew; ++looked_at, message = message->after)
      if (accepts(wanted, message->envelope)) return message;
    return message == nullptr ? nullptr : find_among_many(wanted);
  }

  std::size_t posted() const noexcept { return posted_; }
  /// Messages that nobody has received.
  std::size_t kept() const noexcept { return kept_; }
  /// In the order of their coming, by `after`.
  Unexpected* first() const noexcept { return first_; }

 private:
  /// So many are looked through one by one, which takes less time than to find one of them in a table. However many
  /// there are: mostly the earliest is the one, since programs receive in the order in which they send.
  static constexpr std::size_t kFew = 8;

  Posted*& in_line(std::size_t place) noexcept { return line_[(first_in_line_ + place) & (line_.size() - 1)]; }
  Posted* in_line(std::size_t place) const noexcept { return line_[(first_in_line_ + place) & (line_.size() - 1)]; }
  Posted* take_of_line(std::size_t place) noexcept {
    Posted* const taken = in_line(place);
    for (; place > 0; --place) in_line(place) = in_line(place - 1);
    ++first_in_line_;
    --posted_;
    return taken;
  }
  void grow_line();
  void fill_table() noexcept;
  void post_in_table(Posted& receive);
  void append(Posted& receive);
  void withdraw_from_table(Posted& receive) noexcept;
  Posted* match_in_table(const Envelope& envelope) noexcept;
  Unexpected* find_among_many(const Envelope& wanted);
  void sort_for(std::size_t kind);

  // Receives that wait: in the order in which they were posted, or, from when a message has been for none of the first
  // few until none waits, all of them in a table.
  std::vector<Posted*> line_;  // a power of two; goes round
  std::size_t first_in_line_ = 0;
  std::size_t posted_ = 0;
  bool in_table_ = false;
  KeyedQueues receives_;
  std::array<std::size_t, kKinds> receives_of_{};  // how many are in the table
  std::uint64_t order_ = 0;
  // Messages are in the queues of a kind from when a receive of that kind has asked among many until none is left: most
  // programs have one kind.
  std::array<KeyedQueues, kKinds> messages_;
  std::array<bool, kKinds> sorted_{};
  std::size_t kept_ = 0;
  Unexpected* first_ = nullptr;
  Unexpected* last_ = nullptr;
};

}  // namespace coracle::internals
