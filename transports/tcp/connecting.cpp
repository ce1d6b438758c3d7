// How a rank comes to a connection to a peer. Nothing here may end it, or lose the peer, before connect() has returned:
// submit() still has an operation for it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/socket.hpp"
#include "transports/tcp/tcp.hpp"

namespace coracle::internals::tcp {
namespace {

/// Which of two failures says more: that this rank has no socket or port left hides what the peer would have answered,
/// and an address of a kind that this machine does not have says nothing of the others.
enum class Weight { no_address_here, of_peer, shortage };

Weight weigh(int error, const SocketAddress& target) noexcept {
  if (error == EADDRNOTAVAIL && !has_source_towards(target)) return Weight::no_address_here;
  return is_shortage(error) ? Weight::shortage : Weight::of_peer;
}

/// For the message of a failed operation, or of a lost peer.
std::string describe_attempt(int error, Weight weight, const SocketAddress& target) {
  if (weight == Weight::no_address_here)
    return fmt::format("this machine has no address from which it could connect to {}: see `ip address`",
                       to_string(target));
  if (error == EADDRNOTAVAIL) return fmt::format("connecting to {}: {}", to_string(target), shortage_remedy(error));
  if (weight == Weight::shortage) return shortage_remedy(error);
  return fmt::format("can't connect to {}: {}", to_string(target), std::generic_category().message(error));
}

}  // namespace

/// What came of trying to reach a peer.
struct TcpTransport::Attempt {
  int fd = -1;  ///< A connected socket, or -1: then the next two tell why.
  int error = EHOSTUNREACH;
  Weight weight = Weight::no_address_here;
  std::string why = "its node has no address";
};

void TcpTransport::connect(std::uint32_t peer, Peer& entry) {
  limit_connections();
  entry.outgoing = std::make_unique<Outgoing>(*this, rank_, peer);
  ++open_outgoing_;
  ++connections_made_;
  rank_.service().spawn(run_connect(*this, peer));
}

Task<> TcpTransport::run_connect(TcpTransport& transport, std::uint32_t peer) {
  Result<Attempt> result = co_await as_result(reach(transport, peer));
  Attempt attempt;
  if (result.ok())
    attempt = result.value();
  else
    attempt.error = ECANCELED;
  Peer& entry = transport.outgoing_[peer];
  if (!entry.outgoing) {  // it was lost meanwhile
    if (attempt.fd >= 0) ::close(attempt.fd);
    co_return;
  }
  Outgoing& outgoing = *entry.outgoing;
  if (attempt.fd >= 0)
    outgoing.attach(transport.make_stream(outgoing.channel(), attempt.fd));
  else if (is_shortage(attempt.error) || attempt.error == ECANCELED)  // the latter: this rank ends
    transport.give_up_connecting(entry, peer, attempt);
  else
    transport.lose(peer, attempt.why);
}

/// Tries until there is a connection, or the peer can't be reached, or this rank has had no descriptor left for it for
/// as long as a peer may be silent.
Task<TcpTransport::Attempt> TcpTransport::reach(TcpTransport& transport, std::uint32_t peer) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  Rank& rank = transport.rank_;
  const std::uint64_t until_ns = rank.loop().exact_now_ns() + rank.core().region().shape().network.silence_limit_ns;
  co_await yield();  // what fails at once must not fail inside submit()
  for (;;) {
    Attempt attempt = co_await try_addresses(rank, peer);
    if (attempt.fd >= 0 || !is_shortage(attempt.error) || rank.lost(peer) || rank.loop().exact_now_ns() >= until_ns)
      co_return attempt;
    transport.make_room();
    co_await sleep_for(kPause);
  }
}

Task<TcpTransport::Attempt> TcpTransport::try_addresses(Rank& rank, std::uint32_t peer) {
  const JobRegion& region = rank.core().region();
  const NodeRecord& node = region.node(region.node_of(peer));
  const auto addresses = std::count_if(node.addresses.begin(), node.addresses.end(), [](const NodeAddress& address) {
    return address.family != NodeAddress::Family::none;
  });
  // All of them together must not take longer than a silent peer may.
  const std::chrono::nanoseconds limit(region.shape().network.silence_limit_ns /
                                       static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(addresses, 1)));
  Attempt attempt;
  for (const NodeAddress& address : node.addresses) {
    if (address.family == NodeAddress::Family::none) continue;
    const SocketAddress target = socket_address(address, region.port(peer));
    const int fd = start_connect(target);
    int error = fd < 0 ? errno : 0;
    if (fd >= 0) {
      const auto ready = co_await as_result(with_timeout(limit, rank.loop().io().wait_writable(fd)));
      error = ready.ok() ? connect_error(fd) : ready.code().value();
      if (error == 0) {
        attempt.fd = fd;
        co_return attempt;
      }
      ::close(fd);
    }
    const Weight weight = weigh(error, target);
    if (weight < attempt.weight) continue;
    attempt.error = error;
    attempt.weight = weight;
    attempt.why = describe_attempt(error, weight, target);
  }
  co_return attempt;
}

void TcpTransport::give_up_connecting(Peer& entry, std::uint32_t peer, const Attempt& attempt) noexcept {
  if (is_shortage(attempt.error)) rank_.core().peers().note_shortage(peer, attempt.error, attempt.why);
  const std::error_code why(attempt.error, std::generic_category());
  entry.outgoing->channel().fail_all(why);
  tear_down_outgoing(entry, true);
  while (!entry.held.empty()) entry.held.pop()->finish(why);
}

void TcpTransport::limit_connections() {
  // When all are busy, there are more for a while.
  if (open_outgoing_ >= rank_.core().region().shape().network.connections_max) close_least_used();
}

void TcpTransport::close_least_used() noexcept {
  Outgoing* oldest = nullptr;
  for (auto& [peer, entry] : outgoing_) {
    if (!entry.outgoing || !entry.outgoing->connected() || entry.outgoing->channel().has_left() ||
        !entry.outgoing->channel().quiet())
      continue;
    if (oldest == nullptr || entry.outgoing->last_use < oldest->last_use) oldest = entry.outgoing.get();
  }
  if (oldest != nullptr) oldest->leave();
}

void TcpTransport::make_room() noexcept {
  drop_unknown_after(kHelloLimitWhenShortNs);
  for (const auto& [peer, entry] : outgoing_)
    if (entry.outgoing && entry.outgoing->connected() && entry.outgoing->channel().has_left()) return;  // one goes
  close_least_used();
}

}  // namespace coracle::internals::tcp
