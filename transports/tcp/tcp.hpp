// The TCP transport: to ranks of other nodes, over sockets. One connection for each pair of ranks and direction, made
// when it is first needed by the rank that asks; the least recently used are closed when they become too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
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
  virtual std::unique_ptr<Stream> make_stream(StreamUser& user, int fd) = 0;
  /// When descriptors are short.
  virtual void make_room() noexcept = 0;
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

/// All connections of a rank: those in use, and those that are closed but whose buffers the kernel still has.
class Connections {
 public:
  struct Peer {
    std::unique_ptr<Outgoing> outgoing;
    OperationQueue held;  // while `outgoing` is being closed
    Incoming* incoming = nullptr;
  };

  /// Every peer that was ever asked, or has asked.
  std::unordered_map<std::uint32_t, Peer>& peers() noexcept { return peers_; }
  /// The oldest first.
  const std::vector<std::unique_ptr<Incoming>>& incoming() const noexcept { return incoming_; }
  std::size_t open() const noexcept { return peers_.size() + incoming_.size(); }
  std::size_t open_outgoing() const noexcept { return open_outgoing_; }
  /// Operations.
  std::size_t in_flight() const noexcept;

  void add(Peer& peer, std::unique_ptr<Outgoing> outgoing) noexcept;
  Incoming& add(std::unique_ptr<Incoming> incoming) { return *incoming_.emplace_back(std::move(incoming)); }
  /// See ConnectionOwner::welcome.
  bool welcome(Incoming& incoming) noexcept;
  /// There is an outgoing one.
  void close(Peer& peer, bool reset) noexcept;
  void close(Incoming& incoming, bool reset) noexcept;
  void close_all() noexcept;
  void leave_least_used() noexcept;
  /// One that this rank has left, and which will soon be closed.
  bool one_is_leaving() const noexcept;
  /// Forgets closed ones of which the kernel has let go. True when none is left.
  bool bury() noexcept { return (dead_outgoing_.empty() && dead_incoming_.empty()) || bury_some(); }

 private:
  bool bury_some() noexcept;

  std::unordered_map<std::uint32_t, Peer> peers_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<std::unique_ptr<Outgoing>> dead_outgoing_;
  std::vector<std::unique_ptr<Incoming>> dead_incoming_;
  std::size_t open_outgoing_ = 0;
};

/// Who connects to a rank: peers, who say who they are as soon as they have a connection, and strangers. Anybody can
/// connect, so that those who have not said who they are must not cost the job more than a few descriptors, nor its end
/// more than a moment.
class Strangers {
 public:
  Strangers(ConnectionOwner& owner, Rank& rank, Connections& connections) noexcept;
  /// A task of rank.service(). Those who find no place wait in the kernel's queue, where they cost nothing.
  Task<> accept_all(int listen_fd);
  /// When descriptors are short, or this rank takes leave: who has not said who it is by now has to go.
  void drop_slow() noexcept { drop_after(kHelloLimitWhenShortNs); }
  /// Says who was turned away, without letting strangers fill the terminal.
  void report_dropped(const std::string& address, const char* why) noexcept;
  /// Once, or again.
  void leave() noexcept {
    if (leaving_since_ns_ == 0) leaving_since_ns_ = rank_.loop().exact_now_ns();
  }
  /// Peers are connected, or may be among those that have connected.
  bool may_be_needed() const noexcept;

 private:
  static constexpr std::uint64_t kHelloLimitWhenShortNs = 1'000'000'000;
  /// Since when connections wait for which there is no descriptor.
  struct Shortage {
    std::uint64_t since_ns = 0;  // 0: none does
    bool told = false;
  };
  bool full() const noexcept;
  Incoming* oldest() const noexcept;
  void take(int fd, std::string address);
  Task<> limit_hellos();
  void drop_after(std::uint64_t limit_ns) noexcept;
  void tell_of(Shortage& shortage, int error) const noexcept;

  ConnectionOwner& owner_;
  Rank& rank_;
  Connections& connections_;
  std::size_t places_;
  std::uint64_t leaving_since_ns_ = 0;  // 0: this rank does not
  bool limiting_hellos_ = false;        // a coroutine does
  int dropped_ = 0;
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
  std::size_t in_flight() const noexcept override { return connections_.in_flight(); }
  bool poll() noexcept override;
  void peer_lost(std::uint32_t peer) noexcept override;
  bool leave() noexcept override;

  /// Connections that are open now, and that were ever made by this rank.
  std::size_t connections() const noexcept { return connections_.open(); }
  std::uint64_t connections_made() const noexcept { return connections_made_; }

 private:
  // --- for connections ---
  void changed() noexcept override { attention_ = true; }
  bool welcome(Incoming& incoming) noexcept override { return connections_.welcome(incoming); }
  std::unique_ptr<Stream> make_stream(StreamUser& user, int fd) override;
  void make_room() noexcept override;

  // --- for the watchdog ---
  std::vector<std::uint32_t> silent_peers() override;
  void lose(std::uint32_t peer, const std::string& why) noexcept override;

  /// A rank may send a message and then compute: what it sends first in a turn goes out at once, what follows gathers.
  /// But after a turn in which several messages came together, only the first to each peer: those that answer gather
  /// too, or each would cost a system call here and there.
  static constexpr std::uint32_t kMessagesAtOnce = 8;
  bool leaves_at_once(Outgoing& outgoing) noexcept;

  using Peer = Connections::Peer;
  void connect(std::uint32_t peer, Peer& entry);
  Task<> run_connect(std::uint32_t peer);

  /// Some wait may depend on peers with whom there never was a connection: a few of them at a time.
  void add_awaited_strangers(std::vector<std::uint32_t>& silent);

  void look_after_all() noexcept;
  void look_after(std::uint32_t peer, Peer& entry) noexcept;
  void look_after(Incoming& incoming) noexcept;

  Rank& rank_;
  std::unique_ptr<UringDriver> driver_;
  Connections connections_;
  Strangers strangers_;
  std::unique_ptr<Watchdog> watchdog_;
  std::uint64_t submissions_ = 0;
  std::uint64_t connections_made_ = 0;
  std::uint64_t turns_ = 0;
  std::uint32_t left_this_turn_ = 0;  // messages
  bool polling_ = false;              // what is submitted meanwhile leaves when all that came has been looked at
  std::uint32_t next_stranger_ = 0;
  bool attention_ = false;
};

}  // namespace coracle::internals::tcp
