// Asking and judging.
#include "transports/tcp/watchdog.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/socket.hpp"

namespace coracle::internals::tcp {

Watchdog::Watchdog(Watched& watched, Rank& rank)
    : watched_(watched), rank_(rank), limit_ns_(rank.core().region().shape().network.silence_limit_ns) {
  rank.service().spawn(run(*this));
}

Watchdog::~Watchdog() {
  if (socket_ipv4_ >= 0) ::close(socket_ipv4_);
  if (socket_ipv6_ >= 0) ::close(socket_ipv6_);
}

Task<> Watchdog::run(Watchdog& watchdog) {
  const std::chrono::nanoseconds pause(std::max<std::uint64_t>(watchdog.limit_ns_ / kLooksPerLimit, 1'000'000));
  for (;;) {
    co_await sleep_for(pause);
    watchdog.look();
  }
}

void Watchdog::look() noexcept {
  ++looks_;
  take_answers();
  for (const std::uint32_t peer : watched_.silent_peers()) {
    Doubt& doubt = doubts_[peer];
    doubt.silent_at(looks_);
    const JobRegion& region = rank_.core().region();
    if (region.node(region.node_of(peer)).health_port == 0) continue;  // then TCP's own limits must do
    if (doubt.unanswered() >= kLooksPerLimit) {
      doubts_.erase(peer);
      watched_.lose(
          peer, fmt::format("neither it nor its node has answered for {:.1f} s", static_cast<double>(limit_ns_) / 1e9));
      continue;
    }
    if (ask(peer)) doubt.asked();
  }
}

/// Opened when it is first needed: most jobs never ask.
int Watchdog::socket_of(NodeAddress::Family family) noexcept {
  const bool ipv6 = family == NodeAddress::Family::ipv6;
  int& fd = ipv6 ? socket_ipv6_ : socket_ipv4_;
  if (fd < 0) fd = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd;
}

bool Watchdog::ask(std::uint32_t peer) noexcept {
  const JobRegion& region = rank_.core().region();
  const NodeRecord& node = region.node(region.node_of(peer));
  HealthPing ping;
  ping.rank = peer;
  ping.nonce = looks_;
  const auto bytes = encode(ping, region.shape().key);
  bool asked = false;
  bool is_short = false;
  for (const NodeAddress& address : node.addresses) {
    if (address.family == NodeAddress::Family::none) continue;
    const int fd = socket_of(address.family);
    if (fd < 0) {
      is_short |= is_shortage(errno);
      continue;
    }
    const SocketAddress target = socket_address(address, node.health_port);
    const ssize_t sent =
        ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&target.storage), target.bytes);
    // EAGAIN: no port is free, or no room in the socket. A datagram that else can't be sent is as one that is lost.
    const bool is_short_here = sent < 0 && (errno == EAGAIN || is_shortage(errno));
    asked |= !is_short_here;
    is_short |= is_short_here;
  }
  return asked || !is_short;
}

void Watchdog::take_answers() noexcept {
  std::array<std::byte, kHealthAnswerBytes + 1> bytes;
  for (const int fd : {socket_ipv4_, socket_ipv6_}) {
    while (fd >= 0) {
      const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), 0);
      if (count < 0) break;
      const auto answer = decode_health_answer(std::span(bytes).first(static_cast<std::size_t>(count)),
                                               rank_.core().region().shape().key);
      if (answer) judge(*answer);
    }
  }
}

void Watchdog::judge(const HealthAnswer& answer) noexcept {
  if (answer.health == RankHealth::unknown) return;
  const auto found = doubts_.find(answer.rank);
  if (found == doubts_.end() || !found->second.answered(answer.nonce, looks_)) return;
  switch (answer.health) {
    case RankHealth::starting:
    case RankHealth::running:
      return;
    case RankHealth::stopped:
      if (answer.since_ms * 1'000'000 < limit_ns_) return;
      doubts_.erase(found);
      return watched_.lose(answer.rank,
                           fmt::format("it was stopped for {:.1f} s while others waited for it (--silence)",
                                       static_cast<double>(answer.since_ms) / 1e3));
    case RankHealth::ended:
      doubts_.erase(found);
      return watched_.lose(answer.rank, text_of_end(answer.exit_status));
    case RankHealth::unknown:
      return;
  }
}

}  // namespace coracle::internals::tcp
