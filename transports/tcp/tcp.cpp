// Operations to connections, and what becomes of these. How they are made stands in connecting.cpp, how strangers are
// told from peers in strangers.cpp.
#include "transports/tcp/tcp.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/ready_stream.hpp"
#include "transports/tcp/socket.hpp"

namespace coracle::internals::tcp {

TcpTransport::TcpTransport(Rank& rank) : rank_(rank), strangers_(*this, rank, connections_) {
  Io& io = rank.loop().io();
  if (UringPort* port = io.uring()) driver_ = UringDriver::create(*port, rank.core().region().shape().idle.spins);
  const int listen_fd = rank.core().region().block(rank.id()).listen_fd;
  CORACLE_ASSERT(listen_fd >= 0, "rank {} has no socket to listen at", rank.id());
  ::fcntl(listen_fd, F_SETFL, ::fcntl(listen_fd, F_GETFL) | O_NONBLOCK);
  rank.service().spawn(strangers_.accept_all(listen_fd));
  Watchdog::Watched& watched = *this;
  watchdog_ = std::make_unique<Watchdog>(watched, rank);
}

TcpTransport::~TcpTransport() {
  connections_.close_all();
  // The kernel gives every buffer back at once, now that the sockets are shut.
  while (!connections_.bury()) rank_.loop().io().poll();
}

TransportTraits TcpTransport::traits() const noexcept {
  return {15'000, 5, Outbox::kCopiedBytesMax, false, 2'000, 2'000};
}

void TcpTransport::submit(Operation& operation) noexcept {
  const auto peer = static_cast<std::uint32_t>(operation.peer());
  Peer& entry = connections_.peers()[peer];
  if (!entry.outgoing) connect(peer, entry);
  entry.outgoing->last_use = ++submissions_;
  if (entry.outgoing->channel().has_left()) return entry.held.push(operation);
  const bool message = operation.verb == Operation::Verb::request;  // which may be gone after the next line
  entry.outgoing->submit(operation);
  if (message && leaves_at_once(*entry.outgoing)) entry.outgoing->send_now();
}

bool TcpTransport::leaves_at_once(Outgoing& outgoing) noexcept {
  if (polling_) return false;
  const bool first = std::exchange(outgoing.last_message_turn, turns_) != turns_;
  return (first || came_this_turn_ < 2) && ++left_this_turn_ <= kMessagesAtOnce;
}

void TcpTransport::reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept {
  const auto entry = connections_.peers().find(peer);
  if (entry != connections_.peers().end() && entry->second.incoming != nullptr)
    entry->second.incoming->reply(header, payload);
}

std::unique_ptr<Stream> TcpTransport::make_stream(StreamUser& user, int fd) {
  const JobRegion& region = rank_.core().region();
  set_options(fd, region.shape().network.silence_limit_ns, region.node(rank_.node()).health_port != 0);
  if (driver_) return std::make_unique<UringStream>(*driver_, user, fd);
  return std::make_unique<ReadyStream>(rank_.loop().io(), rank_.service(), user, fd);
}

bool TcpTransport::poll() noexcept {
  ++turns_;
  came_this_turn_ = left_this_turn_ = 0;
  polling_ = true;
  // First what has come: the answers to it leave in this turn.
  bool progress = rank_.loop().io().poll();
  if (driver_) progress |= driver_->poll();
  polling_ = false;
  if (attention_) [[unlikely]] {
    attention_ = false;
    look_after_all();
    progress = true;
  }
  connections_.bury();
  return progress;
}

void TcpTransport::look_after_all() noexcept {
  // By number: what is done may add peers, or lose them.
  std::vector<std::uint32_t> peers;
  for (const auto& [peer, entry] : connections_.peers())
    if (entry.outgoing) peers.push_back(peer);
  for (const std::uint32_t peer : peers) look_after(peer, connections_.peers()[peer]);
  const auto& incoming = connections_.incoming();
  for (std::size_t i = incoming.size(); i-- > 0;)
    if (i < incoming.size()) look_after(*incoming[i]);
}

void TcpTransport::look_after(std::uint32_t peer, Peer& entry) noexcept {
  if (!entry.outgoing) return;
  Outgoing& outgoing = *entry.outgoing;
  if (outgoing.channel().broken()) return lose(peer, outgoing.channel().why());
  if (outgoing.channel().peer_said_goodbye() && !outgoing.channel().has_left()) outgoing.leave();
  if (!outgoing.channel().has_ended()) return;
  connections_.close(entry, false);
  if (entry.held.empty()) return;
  connect(peer, entry);
  while (!entry.held.empty()) entry.outgoing->submit(*entry.held.pop());
}

void TcpTransport::look_after(Incoming& incoming) noexcept {
  Responder& channel = incoming.channel();
  if (channel.broken()) {
    connections_.close(incoming, channel.greeted());
    if (channel.greeted()) return lose(incoming.peer(), channel.why());
    return strangers_.report_dropped(incoming.address(), channel.why().c_str());
  }
  if (channel.peer_said_goodbye() && !incoming.has_left()) {
    incoming.leave();
    // The peer may connect anew as soon as it sees that.
    connections_.peers()[incoming.peer()].incoming = nullptr;
  }
  if (!channel.has_ended()) return;
  if (channel.quiet()) connections_.close(incoming, false);
}

void TcpTransport::lose(std::uint32_t peer, const std::string& why) noexcept {
  const JobRegion& region = rank_.core().region();
  const NodeRecord& node = region.node(region.node_of(peer));
  rank_.core().peer_lost({peer, fmt::format("rank {} on {}: {}", peer, node.host.data(), why)});
}

void TcpTransport::peer_lost(std::uint32_t peer) noexcept {
  const auto found = connections_.peers().find(peer);
  if (found == connections_.peers().end()) return;
  Peer& entry = found->second;
  if (entry.incoming != nullptr) connections_.close(*entry.incoming, true);
  if (entry.outgoing) connections_.close(entry, true);
  while (!entry.held.empty()) entry.held.pop()->finish(Errc::peer_lost);
}

bool TcpTransport::leave() noexcept {
  strangers_.leave();
  // Also those that have been made since it was asked last: for what this rank still does for its peers, or wants from
  // them.
  bool any = false;
  for (auto& [peer, entry] : connections_.peers()) {
    if (!entry.outgoing) continue;
    any = true;
    if (!entry.outgoing->channel().has_left()) entry.outgoing->leave();
  }
  if (any) return false;
  // Strangers are not waited for.
  return !strangers_.may_be_needed() && connections_.bury();
}

void TcpTransport::add_awaited_strangers(std::vector<std::uint32_t>& silent) {
  constexpr std::uint32_t kAtOnce = 64;
  if (rank_.core().peers().observers().empty()) return;
  const JobRegion& region = rank_.core().region();
  for (std::uint32_t i = 0; i < std::min(kAtOnce, rank_.size()); ++i) {
    const std::uint32_t peer = next_stranger_++ % rank_.size();
    if (region.is_local(peer) || rank_.lost(peer) || connections_.peers().contains(peer)) continue;
    if (rank_.core().peers().awaited(peer)) silent.push_back(peer);
  }
}

std::vector<std::uint32_t> TcpTransport::silent_peers() {
  std::vector<std::uint32_t> silent;
  add_awaited_strangers(silent);
  for (auto& [peer, entry] : connections_.peers()) {
    bool heard = entry.outgoing && entry.outgoing->channel().heard();
    heard |= entry.incoming != nullptr && entry.incoming->channel().heard();
    if (heard || rank_.lost(peer)) continue;
    if ((entry.outgoing && !entry.outgoing->channel().quiet()) || rank_.core().peers().awaited(peer))
      silent.push_back(peer);
  }
  return silent;
}

}  // namespace coracle::internals::tcp
