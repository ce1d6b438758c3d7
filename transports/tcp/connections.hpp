// Outgoing and Incoming: the two kinds of connections of a rank: those it has made to ask, and those it serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/tcp/initiator.hpp"
#include "transports/tcp/responder.hpp"
#include "transports/tcp/stream.hpp"

namespace coracle::internals::tcp {

class Incoming;

/// The transport that has the connections, as they know it.
class ConnectionOwner : public Transport, public ConnectionObserver {
 public:
  /// The connection's peer is known now. False when it has one already.
  virtual bool welcome(Incoming& incoming) noexcept = 0;
  /// A message of a peer has come.
  void count_message() noexcept { ++came_this_turn_; }

 protected:
  std::uint32_t came_this_turn_ = 0;  // messages
};

/// To one peer. Operations gather in the channel while the socket is being connected.
class Outgoing final : private InitiatorUser {
 public:
  Outgoing(ConnectionOwner& owner, Rank& rank, std::uint32_t peer);

  std::uint32_t peer() const noexcept { return peer_; }
  Initiator& channel() noexcept { return channel_; }
  bool connected() const noexcept { return stream_ != nullptr; }
  void attach(std::unique_ptr<Stream> stream) noexcept {
    stream_ = std::move(stream);
    channel_.release();
    stream_->output_ready();
  }

  void submit(Operation& operation) noexcept {
    channel_.submit(operation);
    if (stream_) stream_->output_ready();
  }
  /// What has been submitted goes out now, as far as the socket takes it.
  void send_now() noexcept {
    if (stream_) stream_->output_now();
  }
  /// Half-closes it once everything has been sent; the peer answers by closing it.
  void leave();
  void close(bool reset) noexcept {
    if (stream_) stream_->close(reset);
  }
  /// The kernel has let go of all buffers.
  bool idle() const noexcept { return !stream_ || stream_->idle(); }

  std::uint64_t last_use = 0;           ///< In submissions of the transport.
  std::uint64_t last_message_turn = 0;  ///< Of the transport, when a message was submitted.

 private:
  void on_reply(const MessageHeader& header, std::span<const std::byte> payload) noexcept override;

  ConnectionOwner& owner_;
  Rank& rank_;
  std::uint32_t peer_;
  Initiator channel_;
  std::unique_ptr<Stream> stream_;  // ends before the channel, which it uses
};

/// From a peer, who becomes known by its hello.
class Incoming final : private ResponderUser {
 public:
  Incoming(ConnectionOwner& owner, Rank& rank, std::string address, std::uint64_t accepted_ns);

  Responder& channel() noexcept { return channel_; }
  void attach(std::unique_ptr<Stream> stream) noexcept { stream_ = std::move(stream); }
  /// Only when channel().greeted().
  std::uint32_t peer() const noexcept { return peer_; }
  const std::string& address() const noexcept { return address_; }
  std::uint64_t accepted_ns() const noexcept { return accepted_ns_; }

  void reply(const MessageHeader& header, std::span<const std::byte> payload) {
    channel_.reply(header, payload);
    stream_->output_ready();
  }
  void leave();
  bool has_left() const noexcept { return left_; }
  void close(bool reset) noexcept { stream_->close(reset); }
  bool idle() const noexcept { return !stream_ || stream_->idle(); }

 private:
  std::string on_hello(const Hello& hello) noexcept override;
  std::byte* resolve(const RemoteAddress& place, std::uint64_t bytes, bool to_write,
                     std::error_code& error) noexcept override;
  void raise_signal(std::byte* place, std::uint64_t add) noexcept override;
  void on_message(const MessageHeader& header, std::span<const std::byte> payload) noexcept override;

  ConnectionOwner& owner_;
  Rank& rank_;
  std::string address_;
  std::uint64_t accepted_ns_;
  std::uint32_t peer_ = 0;
  bool left_ = false;
  Responder channel_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace coracle::internals::tcp
