// ConnectionEnd: what both ends of a connection have in common: a reader for what comes, an outbox for what goes, and
// how it ended. No I/O: bytes are handed in and out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/core/thread_sanitizer.hpp"
#include "transports/tcp/frame.hpp"
#include "transports/tcp/stream.hpp"

namespace coracle::internals::tcp {

/// Told from inside a stream's poller: look after the connection later.
class ConnectionObserver {
 public:
  /// It has failed or ended, or the peer takes leave.
  virtual void changed() noexcept = 0;

 protected:
  ~ConnectionObserver() = default;
};

class ConnectionEnd : public StreamUser, protected FrameUser {
 public:
  ConnectionEnd(ConnectionObserver& observer, End end, std::uint32_t check) noexcept
      : reader_(*this, end, check), check_(check), observer_(observer) {}
  virtual ~ConnectionEnd() = default;
  ConnectionEnd(const ConnectionEnd&) = delete;
  ConnectionEnd& operator=(const ConnectionEnd&) = delete;

  void received(std::span<const std::byte> bytes) noexcept override {
    taken_from_kernel();
    reader_.take(bytes);
    taken();
  }
  std::span<std::byte> landing() const noexcept override { return reader_.landing(); }
  void landed(std::size_t bytes) noexcept override {
    taken_from_kernel();
    reader_.landed(bytes);
    taken();
  }
  Outbox& outbox() noexcept override { return outbox_; }
  bool output_over() const noexcept override { return said_goodbye_; }
  void ended(std::error_code error) noexcept override {
    ended_ = true;
    error_ = error;
    observer_.changed();
  }

  /// The peer has said that it will send nothing more.
  bool peer_said_goodbye() const noexcept { return peer_said_goodbye_; }
  bool has_ended() const noexcept { return ended_; }
  /// Whether anything has come since the last call.
  bool heard() noexcept { return std::exchange(heard_, false); }
  /// Nothing is wrong, or the connection ended as agreed.
  bool broken() const noexcept { return reader_.failed() || (ended_ && (error_ || !peer_said_goodbye_)); }
  /// Why it is broken, as the end of a sentence about the peer.
  std::string why() const;

 protected:
  /// After each piece of input.
  virtual void input_taken() noexcept = 0;

  void emit(FrameType type, std::span<const std::uint64_t> words = {}, std::uint64_t payload_bytes = 0);
  /// A frame with payload, which is copied when it is short; else it must live until it was sent (see Outbox::refer).
  /// True when it was copied.
  bool emit(FrameType type, std::span<const std::uint64_t> words, std::span<const std::byte> payload,
            Operation* operation);
  /// Nothing may be emitted afterwards.
  void say_goodbye() {
    said_goodbye_ = true;
    emit(FrameType::goodbye);
  }
  void tell_again_if_ended() noexcept {
    if (ended_) observer_.changed();
  }

  FrameReader reader_;
  Outbox outbox_;
  const std::uint32_t check_;
  bool peer_said_goodbye_ = false;
  bool said_goodbye_ = false;

 private:
  void taken() noexcept {
    heard_ = true;
    input_taken();
    if (reader_.failed() || peer_said_goodbye_) observer_.changed();
  }

  ConnectionObserver& observer_;
  bool heard_ = false;
  bool ended_ = false;
  std::error_code error_;
};

inline void ConnectionEnd::emit(FrameType type, std::span<const std::uint64_t> words, std::uint64_t payload_bytes) {
  std::array<std::byte, kHeadBytesMax> bytes;
  outbox_.copy(std::span(bytes).first(write_head(bytes, check_, type, words, payload_bytes)));
}

inline bool ConnectionEnd::emit(FrameType type, std::span<const std::uint64_t> words,
                                std::span<const std::byte> payload, Operation* operation) {
  emit(type, words, payload.size());
  if (payload.size() > Outbox::kCopiedBytesMax) {
    outbox_.refer(payload, operation);
    return false;
  }
  outbox_.copy(payload);
  return true;
}

inline std::string ConnectionEnd::why() const {
  if (reader_.failed()) return reader_.reason();
  if (error_) return error_.message();
  return "the connection ended without a goodbye: its process has ended, or is out of reach";
}

}  // namespace coracle::internals::tcp
