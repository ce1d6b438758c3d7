// The waits of receives and probes for a message that has not come yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <system_error>

#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

class Arrivals;
class Team;

/// A wait for a message of a member, or of any. Ends early by cancellation, and with the loss of that member, or of
/// any. It lives in the waiting coroutine's frame.
class MessageWait : public Waiter {
 public:
  /// Whether it would end with the loss of `peer`.
  bool concerns(std::uint32_t peer) const noexcept;
  /// One that it concerns is lost: it ends.
  void lost(std::uint32_t peer) noexcept;
  WaitDetail detail() const noexcept override;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    enter();
    return true;
  }
  /// Throws Error when it ended early.
  void await_resume() const;

 protected:
  void cancel(std::error_code reason) noexcept override;
  /// It can't begin, since a rank is lost.
  void fail(std::uint32_t lost) noexcept {
    is_lost_ = true;
    lost_ = lost;
  }
  /// `peer`: the rank of `source`, or -1.
  MessageWait(Arrivals& arrivals, Team& team, std::uint32_t source, int peer, const char* what) noexcept
      : Waiter(what, peer), arrivals_(arrivals), team_(team), source_(source) {}
  MessageWait(MessageWait&&) noexcept = default;
  ~MessageWait() = default;

  bool has_failed() const noexcept { return failed() || is_lost_; }
  /// The wait is over.
  void end() noexcept { complete(); }
  Arrivals& arrivals() const noexcept { return arrivals_; }
  Team& team() const noexcept { return team_; }

 private:
  /// Enters, or leaves, the list of those who are told of messages, and of losses.
  virtual void enter() = 0;
  /// Of which messages it waits for one: kAnyTag or a tag; nothing while it has one that is being fetched.
  virtual std::optional<std::uint64_t> wanted_tag() const noexcept = 0;
  virtual void retire() noexcept = 0;

  Arrivals& arrivals_;
  Team& team_;
  std::uint32_t source_;
  bool is_lost_ = false;
  std::uint32_t lost_ = 0;
};

/// For receives: the message does not fit into `bytes`.
[[noreturn]] void throw_truncated(const Received& received, std::uint32_t rank, std::size_t bytes);

/// What `co_await team.recv(...)` awaits.
class [[nodiscard]] Receive final : public MessageWait, public PostedReceive {
 public:
  /// `peer`: as MessageWait's. `on_device`: whether the target lies in a GPU's memory.
  Receive(Arrivals& arrivals, Team& team, const Envelope& envelope, int peer, const MessageTarget& target,
          bool on_device) noexcept
      : MessageWait(arrivals, team, envelope.source, peer, "receive"),
        PostedReceive(envelope),
        target_(target),
        on_device_(on_device) {}
  Receive(Receive&&) noexcept = default;  // of one that has not begun
  ~Receive() = default;

  /// True when a message was there and has been copied, or none can come.
  bool await_ready() noexcept;
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (state_ == State::open) [[likely]] {
      if (!suspend(self, true)) return false;
      enter();
      return true;
    }
    suspend(self, false);  // the target belongs to the transfer until that has ended
    take();
    return true;
  }
  Received await_resume() const;
  /// For who is no coroutine: whether it has begun to wait, and not ended.
  bool is_under_way() const noexcept { return waiting(); }
  /// Of one that has ended: whether await_resume() throws.
  bool has_failed() const noexcept {
    return MessageWait::has_failed() || error_ != nullptr || received_.bytes > target_.bytes();
  }
  /// Ends it, unless a message has been found for it.
  void withdraw() noexcept {
    if (waiting()) cancel(std::make_error_code(std::errc::operation_canceled));
  }
  /// The message that it got: also where await_resume() has thrown that it is too long (truncated).
  const Received& received() const noexcept { return received_; }

  /// For the handlers: a message has come, which the matcher has given to this. What is longer than the target is not
  /// copied.
  /// `number`: see message_events.hpp; 0 while no tool is told.
  void deliver(const Envelope& envelope, std::uint32_t rank, std::uint64_t number,
               const MessageSource& payload) noexcept {
    number_ = number;
    if (on_device_ && lands(payload.bytes())) [[unlikely]]
      return deliver_to_device(envelope, rank, payload);
    copy(envelope, rank, payload);
    end();
  }
  void deliver(const Envelope& envelope, std::uint32_t rank, std::uint64_t number, const ReadyToSend& offer) noexcept;

 private:
  enum class State : std::uint8_t {
    open,   ///< It waits for a message.
    found,  ///< It has one, which is with its sender still, or is to be copied to a GPU.
    over,
  };

  void enter() override;
  std::optional<std::uint64_t> wanted_tag() const noexcept override {
    return state_ == State::open ? std::optional(wanted.tag) : std::nullopt;
  }
  void retire() noexcept override;
  void cancel(std::error_code reason) noexcept override {
    if (state_ == State::open) MessageWait::cancel(reason);
  }
  void deliver_to_device(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) noexcept;
  void copy(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) noexcept {
    if (payload.bytes() <= target_.bytes()) copy_part(target_, payload, 0, payload.bytes());
    note(State::over, envelope, rank, payload.bytes());
    if (number_ != 0) [[unlikely]]
      tell_of_end();
  }
  /// Whether a message that is here has to be copied by engines, if the target is a GPU's.
  bool lands(std::size_t bytes) const noexcept { return bytes > 0 && bytes <= target_.bytes(); }
  void keep(UnexpectedOwner message) noexcept;
  void note(State state, const Envelope& envelope, std::uint32_t rank, std::size_t bytes) noexcept {
    state_ = state;
    received_ = {envelope.source, envelope.tag, bytes};
    rank_ = rank;
  }
  void tell_of_end() noexcept;
  /// Has the kept message fetched, or copied to a GPU.
  void take() noexcept;
  static Task<> fetch(Receive& receive, ReadyToSend offer, std::uint32_t rank, const MessageTarget& target);
  static Task<> land(Receive& receive, UnexpectedOwner message, const MessageTarget& target);
  /// The target is filled, or `error` tells why it is not.
  void taken(std::exception_ptr error) noexcept;

  MessageTarget target_;
  bool on_device_;
  State state_ = State::open;
  std::uint32_t rank_;    // of the sender, once a message is there
  std::uint64_t number_;  // of the message, likewise
  Received received_;
  UnexpectedOwner message_;  // until it is taken
  std::exception_ptr error_;
};

}  // namespace coracle::internals
