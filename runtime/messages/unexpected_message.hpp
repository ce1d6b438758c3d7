// UnexpectedMessage: a message that has come for a rank and is not received yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "runtime/core/frame_pool.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// A message that came before its receive: short ones whole, of the others where they lie. One allocation, payload and
/// all, but for the payload of one that was offered first. Rank's thread only.
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

  /// Where a tool is told of messages: the one of this.
  std::uint64_t number = 0;

  /// The sender.
  std::uint32_t rank() const noexcept { return rank_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_offer() const noexcept { return is_offer_; }
  const ReadyToSend& offer() const noexcept { return offer_; }
  /// Of one that is no offer.
  std::span<const std::byte> payload() const noexcept {
    return {held_ ? held_.get() : reinterpret_cast<const std::byte*>(this + 1), bytes_};
  }
  /// An offer's payload has come: it is none any more.
  void hold(std::span<const std::byte> payload) {
    held_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    std::ranges::copy(payload, held_.get());
    is_offer_ = false;
  }
  /// It has come whole, but after its offer.
  bool was_offered() const noexcept { return held_ != nullptr; }

 private:
  friend DropUnexpected;

  UnexpectedMessage(const Envelope& of, std::uint32_t rank, std::size_t bytes) noexcept
      : Unexpected(of), rank_(rank), bytes_(bytes) {}
  ~UnexpectedMessage() = default;

  std::uint32_t rank_;
  bool is_offer_ = false;
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> held_;  // of one that was offered first
  ReadyToSend offer_;
};

}  // namespace coracle::internals
