// CoherenceMessage: a message of the coherence protocol as it travels between the ranks that keep caches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/protocol/protocol.hpp"

namespace coracle::internals {
class Message;
}

namespace coracle::internals::storage {

struct CoherenceMessage {
  /// Pages of up to so many bytes go with the coherence message that says that they come, where no load or store
  /// reaches: one message, and not a put, its answer, and a message. Larger ones would be copied once more.
  static constexpr std::size_t kPageBytesMax = 16 << 10;

  PageMessage message;
  std::uint64_t page = 0;
  CacheId from = kNoCache;
  std::uint32_t frame = 0;  ///< read, write, forward_*: the requester's, where the data go. put: where they are.
  bool from_ssd = false;    ///< data: not from another cache.

  /// What a message carries of it, beside the segment's number and the page.
  struct Words {
    std::uint64_t kind;
    std::uint64_t frame;
    std::uint64_t numbers;
  };
  Words words(std::uint32_t segment) const noexcept;
  static CoherenceMessage of(const Message& message) noexcept;
  static std::uint32_t segment_of(const Message& message) noexcept;
};

/// Whether it goes to the page's home rather than to a cache.
constexpr bool is_for_home(Verb verb) noexcept {
  return verb == Verb::read || verb == Verb::write || verb == Verb::put || verb == Verb::nack || verb == Verb::ack ||
         verb == Verb::done;
}

}  // namespace coracle::internals::storage
