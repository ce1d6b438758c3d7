// Initiator: the end of a connection that asks. It turns operations into frames and answers into outcomes; answers come
// in the order of the operations, so that no name of an operation travels.
#pragma once

#include "transports/tcp/connection_end.hpp"

namespace coracle::internals::tcp {

/// What an initiator needs from above.
class InitiatorUser {
 public:
  /// A reply has come. The payload is valid during the call.
  virtual void on_reply(const MessageHeader& header, std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~InitiatorUser() = default;
};

class Initiator final : public ConnectionEnd {
 public:
  /// Who connects to whom, for the hello.
  struct Names {
    JobKey key;
    std::uint32_t source;
    std::uint32_t target;
  };
  Initiator(InitiatorUser& user, ConnectionObserver& observer, const Names& names);

  /// Takes the operation, which finishes now, with its answer, or with fail_all().
  void submit(Operation& operation) noexcept;
  bool wants_input() const noexcept override { return true; }
  void drained() noexcept override;

  /// Operations that have not finished.
  std::size_t in_flight() const noexcept { return in_flight_; }
  /// Nothing is expected from the peer, and nothing waits to be sent.
  bool quiet() const noexcept { return in_flight_ == 0 && outbox_.idle(); }
  /// Until release() nothing of an operation is turned into bytes: while there is no connection all of them can still
  /// be ended by fail_all(), also messages, of which the sender hears nothing more once they are bytes.
  void hold() noexcept { holding_ = true; }
  void release() noexcept {
    holding_ = false;
    drained();
  }
  /// Says, after what has been submitted, that nothing follows. No operation may be submitted afterwards.
  void leave() {
    left_ = true;
    drained();
  }
  bool has_left() const noexcept { return left_; }
  /// Ends all operations with `outcome`. The kernel must have let go of their buffers.
  void fail_all(std::error_code outcome) noexcept;

 private:
  /// More is held back, in the operations themselves.
  static constexpr std::size_t kOutboxBytesMax = 512 * 1024;

  void encode(Operation& operation);
  void encode_put(Operation& operation);
  void encode_atomic(Operation& operation);
  void encode_message(RequestOperation& request);
  void finish_first(std::error_code outcome = {}) noexcept;
  /// The operation that the next answer is for; null (and failed) when it is none of this verb.
  Operation* first(bool fits) noexcept;

  void whole(const Frame& frame, std::span<const std::byte> payload) noexcept override;
  std::byte* begin(const Frame& frame) noexcept override;
  void piece(const Frame&, std::uint64_t, std::span<const std::byte>) noexcept override {}  // of what has failed
  void end(const Frame& frame) noexcept override;
  void input_taken() noexcept override {}
  void take_done(std::uint64_t count) noexcept;
  Operation* get_of(const Frame& frame) noexcept;
  void take_data(Operation& get, std::uint64_t bytes) noexcept;
  void take_reply(const Frame& frame, std::span<const std::byte> payload) noexcept;

  InitiatorUser& user_;
  OperationQueue answers_;     // sent, or in the outbox; each gets an answer
  std::size_t got_bytes_ = 0;  // of the first of them, a get
  OperationQueue waiting_;     // for room in the outbox, or for release()
  std::size_t in_flight_ = 0;
  std::array<std::byte, kReplyBytesMax> reply_;  // one that comes in pieces
  bool holding_ = false;
  bool left_ = false;
};

}  // namespace coracle::internals::tcp
