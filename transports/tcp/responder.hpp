// Responder: the end of a connection that is asked. It does what comes to this rank's memory, in order, and answers.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/job/remote.hpp"
#include "transports/tcp/connection_end.hpp"

namespace coracle::internals::tcp {

/// What a responder acts on: this rank.
class ResponderUser {
 public:
  struct Hello {
    JobKey key;
    std::uint64_t program;
    std::uint32_t source;
    std::uint32_t target;
  };
  /// Empty: welcome. Else why not, for both sides to read.
  virtual std::string on_hello(const Hello& hello) noexcept = 0;
  /// The memory at a place of this rank, or why there is none.
  virtual std::byte* resolve(const RemoteAddress& place, std::uint64_t bytes, bool to_write,
                             std::error_code& error) noexcept = 0;
  virtual void raise_signal(std::byte* place, std::uint64_t add) noexcept = 0;
  virtual void on_message(const MessageHeader& header, std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~ResponderUser() = default;
};

class Responder final : public ConnectionEnd {
 public:
  Responder(ResponderUser& user, ConnectionObserver& observer, std::uint32_t check) noexcept
      : ConnectionEnd(observer, End::responder, check), user_(user) {}

  bool greeted() const noexcept { return greeted_; }
  /// Sends a reply; the payload is copied.
  void reply(const MessageHeader& header, std::span<const std::byte> payload);
  /// Says, after the answers to what has come, that nothing follows.
  void leave() {
    leaving_ = true;
    send_due();
  }
  /// Nothing waits to be sent.
  bool quiet() const noexcept { return due_.empty() && outbox_.idle(); }

  /// What a peer asks for without reading the answers must not fill our memory.
  bool wants_input() const noexcept override { return outbox_.held_bytes() < kOutboxBytesMax && due_.size() < kDueMax; }
  void drained() noexcept override {
    send_due();
    tell_again_if_ended();  // what the peer had still to get before the connection could go has left
  }

 private:
  static constexpr std::size_t kOutboxBytesMax = 1024 * 1024;
  static constexpr std::size_t kDueMax = 64;
  /// Memory that may be withdrawn is not sent from where it lies, but copied, so much at a time and at most so much
  /// ahead: at the moment of the copy it is still there.
  static constexpr std::uint64_t kPieceBytes = 64 * 1024;
  static constexpr std::size_t kAheadBytesMax = 512 * 1024;

  /// An answer behind others; of a get (`data`) what of it has not been sent. A short one has been copied when it came,
  /// so that what comes after it does not change it.
  struct Due {
    FrameType type = FrameType::done;
    std::uint64_t word = 0;
    RemoteAddress place{};
    std::uint64_t bytes = 0;
    std::vector<std::byte> copy{};
  };

  void whole(const Frame& frame, std::span<const std::byte> payload) noexcept override;
  std::byte* begin(const Frame& frame) noexcept override;
  void piece(const Frame& frame, std::uint64_t position, std::span<const std::byte> bytes) noexcept override;
  void end(const Frame& frame) noexcept override;
  void input_taken() noexcept override;

  void take_hello(const Frame& frame) noexcept;
  std::byte* begin_put(const Frame& frame) noexcept;
  void end_put(const Frame& frame) noexcept;
  void take_get(const Frame& frame) noexcept;
  void take_atomic(const Frame& frame) noexcept;
  void take_message(const Frame& frame, std::span<const std::byte> payload) noexcept;
  void answer(FrameType type, std::uint64_t word) noexcept;
  void send_due() noexcept;
  bool send_data(Due& get) noexcept;
  void answer_done() noexcept;
  void answer_failure(std::error_code error) noexcept;

  ResponderUser& user_;
  bool greeted_ = false;
  std::uint64_t done_ = 0;  // puts that no answer has told of yet
  RingQueue<Due> due_;
  bool leaving_ = false;
  // The put or message whose payload is coming.
  std::error_code error_;
  std::unique_ptr<std::byte[]> payload_;
};

}  // namespace coracle::internals::tcp
