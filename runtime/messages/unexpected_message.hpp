// UnexpectedMessage: a message that came before its receive: short ones whole, of the others where they lie.
#pragma once

#include <cstddef>
#include <new>
#include <span>

#include "runtime/core/frame_pool.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/ready_to_send.hpp"
#include "runtime/messages/unexpected_owner.hpp"

namespace coracle::internals {

/// One allocation, payload and all. Rank's thread only.
class UnexpectedMessage final : public Matcher::Unexpected {
 public:
  using Owner = UnexpectedOwner;

  static Owner with(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) {
    void* memory = FramePool::allocate(sizeof(UnexpectedMessage) + payload.bytes());
    auto* message = new (memory) UnexpectedMessage(envelope, rank, payload.bytes());
    read_part(payload, 0, {reinterpret_cast<std::byte*>(message + 1), payload.bytes()});
    return Owner(message);
  }
  static Owner with(const Envelope& envelope, std::uint32_t rank, const ReadyToSend& offer) {
    auto* message = new (FramePool::allocate(sizeof(UnexpectedMessage))) UnexpectedMessage(envelope, rank, offer.bytes);
    message->is_offer_ = true;
    message->offer_ = offer;
    return Owner(message);
  }

  /// The sender.
  std::uint32_t rank() const noexcept { return rank_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_offer() const noexcept { return is_offer_; }
  const ReadyToSend& offer() const noexcept { return offer_; }
  /// Of one that is none.
  std::span<const std::byte> payload() const noexcept { return {reinterpret_cast<const std::byte*>(this + 1), bytes_}; }

 private:
  friend DropUnexpected;

  UnexpectedMessage(const Envelope& of, std::uint32_t rank, std::size_t bytes) noexcept
      : Unexpected(of), rank_(rank), bytes_(bytes) {}
  ~UnexpectedMessage() = default;

  std::uint32_t rank_;
  bool is_offer_ = false;
  std::size_t bytes_;
  ReadyToSend offer_;
};

}  // namespace coracle::internals
