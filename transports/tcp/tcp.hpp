// The TCP transport: to ranks of other nodes, over sockets. One connection for each pair of ranks and direction, made
// when it is first needed by the rank that asks; the least recently used are closed when they become too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/tcp/initiator.hpp"
#include "transports/tcp/responder.hpp"
#include "transports/tcp/stream.hpp"
#include "transports/tcp/uring_stream.hpp"
#include "transports/tcp/watchdog.hpp"

namespace coracle::internals::tcp {

// Outgoing and Incoming: the two kinds of connections of a rank: those it has made to ask, and those it serves.

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

/// Says who was turned away, without letting strangers fill the terminal.
class StrangerReport {
 public:
  void dropped(std::uint32_t rank, const std::string& address, const char* why) noexcept {
    constexpr int kSaidMax = 8;
    if (++count_ > kSaidMax) return;
    std::fprintf(stderr, "coracle: rank %u: dropped a connection from %s: %s%s\n", rank, address.c_str(), why,
                 count_ == kSaidMax ? " (later ones are not reported)" : "");
  }

 private:
  int count_ = 0;
};

class TcpTransport final : public ConnectionOwner, private Watchdog::Watched {
 public:
  /// Serves connections to the listening socket that the rank has from its launcher.
  explicit TcpTransport(Rank& rank);
  ~TcpTransport() override;

  const char* name() const noexcept override { return "tcp"; }
  TransportTraits traits() const noexcept override;
  void submit(Operation& operation) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return kReplyBytesMax; }
  std::size_t in_flight() const noexcept override;
  bool poll() noexcept override;
  void peer_lost(std::uint32_t peer) noexcept override;
  bool leave() noexcept override;

  /// Connections that are open now, and that were ever made by this rank.
  std::size_t connections() const noexcept { return outgoing_.size() + incoming_.size(); }
  std::uint64_t connections_made() const noexcept { return connections_made_; }

 private:
  // --- for connections ---
  void changed() noexcept override { attention_ = true; }
  bool welcome(Incoming& incoming) noexcept override;

  // --- for the watchdog ---
  std::vector<std::uint32_t> silent_peers() override;
  void lose(std::uint32_t peer, const std::string& why) noexcept override;

  /// A rank may send a message and then compute: what it sends first in a turn goes out at once, what follows gathers.
  /// But after a turn in which several messages came together, only the first to each peer: those that answer gather
  /// too, or each would cost a system call here and there.
  static constexpr std::uint32_t kMessagesAtOnce = 8;
  /// Who has not said who it is by then has to go when its place is needed, or when this rank takes leave.
  static constexpr std::uint64_t kHelloLimitWhenShortNs = 1'000'000'000;
  bool leaves_at_once(Outgoing& outgoing) noexcept;

  struct Peer {
    std::unique_ptr<Outgoing> outgoing;
    OperationQueue held;  // while `outgoing` is being closed
    Incoming* incoming = nullptr;
  };

  std::unique_ptr<Stream> make_stream(StreamUser& user, int fd);

  // --- connecting.cpp ---
  struct Attempt;
  void connect(std::uint32_t peer, Peer& entry);
  static Task<> run_connect(TcpTransport& transport, std::uint32_t peer);
  static Task<Attempt> reach(TcpTransport& transport, std::uint32_t peer);
  static Task<Attempt> try_addresses(Rank& rank, std::uint32_t peer);
  /// There is no connection, for a reason that says nothing of the peer.
  void give_up_connecting(Peer& entry, std::uint32_t peer, const Attempt& attempt) noexcept;
  void limit_connections();
  void close_least_used() noexcept;
  /// When descriptors are short.
  void make_room() noexcept;

  // --- strangers.cpp ---
  static std::size_t unknown_connections_max(Rank& rank) noexcept;
  /// Since when connections wait for which there is no descriptor.
  struct Shortage {
    std::uint64_t since_ns = 0;  // 0: none does
    bool told = false;
  };
  void tell_of(Shortage& shortage, int error) const noexcept;
  static Task<> run_accept(TcpTransport& transport, int listen_fd);
  static Task<> run_hello_limit(TcpTransport& transport);
  void accept(int fd, std::string address);
  void drop_unknown_after(std::uint64_t limit_ns) noexcept;
  bool may_have_come_for_us() const noexcept;
  bool has_mostly_left() const noexcept;

  /// Some wait may depend on peers with whom there never was a connection: a few of them at a time.
  void add_awaited_strangers(std::vector<std::uint32_t>& silent);

  void look_after_all() noexcept;
  void look_after(std::uint32_t peer, Peer& entry) noexcept;
  void look_after(Incoming& incoming) noexcept;
  void tear_down_outgoing(Peer& entry, bool reset) noexcept;
  void tear_down_incoming(Incoming& incoming, bool reset) noexcept;
  void clear_graves() noexcept;

  Rank& rank_;
  std::unique_ptr<UringDriver> driver_;
  StrangerReport strangers_;
  std::unordered_map<std::uint32_t, Peer> outgoing_;  // every peer that was ever asked, or has asked
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<Incoming*> unknown_;  // of these, who have not said who they are; the oldest first
  std::size_t unknown_max_ = 0;
  std::vector<std::unique_ptr<Outgoing>> dead_outgoing_;  // until the kernel has let go of their buffers
  std::vector<std::unique_ptr<Incoming>> dead_incoming_;
  std::unique_ptr<Watchdog> watchdog_;
  std::uint64_t submissions_ = 0;
  std::uint64_t connections_made_ = 0;
  std::size_t open_outgoing_ = 0;
  std::uint64_t turns_ = 0;
  std::uint32_t left_this_turn_ = 0;  // messages
  bool polling_ = false;              // what is submitted meanwhile leaves when all that came has been looked at
  std::uint32_t next_stranger_ = 0;
  bool attention_ = false;
  bool limiting_hellos_ = false;  // a coroutine does
  bool leaving_ = false;
  std::uint64_t leaving_since_ns_ = 0;
};

}  // namespace coracle::internals::tcp
