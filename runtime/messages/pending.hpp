// What waits of a message while its two sides have not met: PostedReceive, a receive that waits, as the matcher knows
// it; ReadyToSend, what travels of a message that stays with its sender until it is received; and UnexpectedOwner.
#pragma once

#include <cstdint>

#include "runtime/core/std_parts.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// A thing's place in one queue. Holds nothing before it is in one: most messages and receives never are.
struct QueueLink {
  QueueLink() = default;
  QueueLink(const QueueLink&) = delete;
  QueueLink& operator=(const QueueLink&) = delete;

  QueueLink* previous;
  QueueLink* next;
  void* owner;
};

/// A receive that waits. Lives with its owner.
struct PostedReceive {
  explicit PostedReceive(const Envelope& of) noexcept : wanted(of) {}
  PostedReceive(PostedReceive&& other) noexcept : PostedReceive(other.wanted) {}  // one that is not posted
  Envelope wanted;
  std::uint64_t order;  // once the link is in use
  QueueLink link;
};

class SharedCopy;

/// What travels of a message that stays with its sender until it is received.
struct ReadyToSend {
  static constexpr std::uint32_t kHost = ~std::uint32_t{0};

  std::uint64_t bytes = 0;
  std::uint64_t serial = 0;      ///< The sender's number for it.
  std::uint64_t address = 0;     ///< In the sender's memory: of its bytes, or of a layout's origin. On a GPU: the
                                 ///< offset in a segment there.
  SharedCopy* shared = nullptr;  ///< At the sender, where its memory is plain memory here.
  // Of what is scattered, where the memory is not:
  std::uint64_t count = 0;           ///< Repetitions of the layout; 0: it lies in one piece.
  std::uint64_t layout_address = 0;  ///< Of the layout, encoded.
  std::uint32_t layout_bytes = 0;    ///< 0: the sender gives none away; it sends pieces.
  std::uint32_t device_of = kHost;   ///< The rank on whose GPU it lies; kHost: on none.
  std::uint32_t device_segment = 0;  ///< See RemoteAddress::segment.
  bool is_handed = false;            ///< It lies in one of MessageRooms, which is the receiver's then.
  bool is_attended = false;          ///< The sender's loop turns until it has ended, as far as that one knows.
  bool is_short = false;             ///< There was no room for it at the receiver: see ShortOffers.

  bool on_device() const noexcept { return device_of != kHost; }
};

class UnexpectedMessage;

struct DropUnexpected {
  void operator()(UnexpectedMessage* message) const noexcept;
};

/// Owns a message that came before its receive, for those who need not know what that is. Rank's thread only.
using UnexpectedOwner = std::unique_ptr<UnexpectedMessage, DropUnexpected>;

}  // namespace coracle::internals
