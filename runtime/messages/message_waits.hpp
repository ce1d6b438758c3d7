// The waits of receives and probes for a message that has not come yet.
#pragma once

#include <cstring>
#include <span>

#include "runtime/messages/unexpected_message.hpp"
#include "runtime/peers.hpp"
#include "runtime/team.hpp"
#include "runtime/waiter.hpp"

namespace coracle {

class Messages;

/// A wait for a message of a member, or of any. Ends early by cancellation, and with the loss of that member, or of
/// any. It lives in the waiting coroutine's frame.
class MessageWait : public Waiter, private LossWatch {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    begin();
    return true;
  }
  /// Throws Error when it ended early.
  void await_resume() const;

 protected:
  MessageWait(Messages& messages, Team& team, std::uint32_t source, const char* what) noexcept;
  ~MessageWait() = default;

  /// The wait is over.
  void end() noexcept {
    leave();
    complete();
  }
  Messages& messages() const noexcept { return messages_; }

 private:
  /// Enters, or leaves, the list of those who are told of messages.
  virtual void enter() = 0;
  virtual void retire() noexcept = 0;

  void begin();
  bool concerns(std::uint32_t peer) const noexcept override;
  void lost(const Loss& loss) noexcept override;
  void cancel(std::error_code reason) noexcept override;

  Messages& messages_;
  Team& team_;
  std::uint32_t source_;
  bool is_lost_ = false;
  std::uint32_t lost_ = 0;
};

/// A receive that has been posted.
class PostedReceive final : public MessageWait, public Matcher::Posted {
 public:
  PostedReceive(Messages& messages, Team& team, const Envelope& envelope, std::span<std::byte> buffer) noexcept
      : MessageWait(messages, team, envelope.source, "receive"), Posted(envelope), buffer_(buffer) {}

  /// For the handlers: a message has come, which the matcher has given to this. What is longer than the buffer is not
  /// copied.
  void deliver(const Envelope& envelope, std::uint32_t rank, std::span<const std::byte> payload) noexcept {
    if (!payload.empty() && payload.size() <= buffer_.size())
      std::memcpy(buffer_.data(), payload.data(), payload.size());
    note(envelope, rank, payload.size());
  }
  void deliver(const Envelope& envelope, std::uint32_t rank, const Offer& offer) noexcept {
    is_offer_ = true;
    offer_ = offer;
    note(envelope, rank, offer.bytes);
  }

  /// Afterwards.
  const Received& received() const noexcept { return received_; }
  std::uint32_t rank() const noexcept { return rank_; }
  bool is_offer() const noexcept { return is_offer_; }
  const Offer& offer() const noexcept { return offer_; }

 private:
  void enter() override;
  void retire() noexcept override;
  void note(const Envelope& envelope, std::uint32_t rank, std::size_t bytes) noexcept {
    received_ = {envelope.source, envelope.tag, bytes};
    rank_ = rank;
    end();
  }

  std::span<std::byte> buffer_;
  Received received_{};
  std::uint32_t rank_ = 0;
  bool is_offer_ = false;
  Offer offer_;
};

/// A probe that waits: ends when a message is there that it accepts, which others may have taken by the time it goes
/// on.
class ProbeWait final : public MessageWait {
 public:
  ProbeWait(Messages& messages, Team& team, const Envelope& envelope) noexcept
      : MessageWait(messages, team, envelope.source, "probe"), wanted_(envelope) {}

  bool accepts(const Envelope& envelope) const noexcept {
    return envelope.team == wanted_.team && (wanted_.source == kAnySource || wanted_.source == envelope.source) &&
           (wanted_.tag == kAnyTag || wanted_.tag == envelope.tag);
  }
  void message_is_there() noexcept { end(); }

 private:
  void enter() override;
  void retire() noexcept override;

  Envelope wanted_;
};

}  // namespace coracle
