// KeyedQueues: for each envelope a queue, first in, first out, of things that live elsewhere. Finding, adding and
// taking out cost the same with one of them and with thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/messages/posted_receive.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// A hash table with open addressing; keys without a queue take no place.
class KeyedQueues {
 public:
  KeyedQueues();

  bool empty() const noexcept { return used_ == 0; }
  /// Null when there is none.
  QueueLink* front(const Envelope& key) const noexcept;
  void append(const Envelope& key, QueueLink& link);
  /// `link` is in the queue of `key`.
  void remove(const Envelope& key, QueueLink& link) noexcept;

 private:
  struct Bucket {
    Envelope key;
    QueueLink* head = nullptr;  // null: free
    QueueLink* tail = nullptr;
  };
  static std::size_t hash(const Envelope& key) noexcept;
  /// Of the key, or where it would go.
  std::size_t place_of(const Envelope& key) const noexcept;
  void free(std::size_t place) noexcept;
  void grow();

  std::vector<Bucket> buckets_;  // a power of two, at least half of them free
  std::size_t used_ = 0;
};

}  // namespace coracle::internals
