// Who connects to a rank: peers, who say who they are as soon as they have a connection, and strangers. Anybody can
// connect, so that those who have not said who they are must not cost the job more than a few descriptors, nor its end
// more than a moment.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/job.hpp"
#include "transports/tcp/socket.hpp"
#include "transports/tcp/tcp.hpp"

namespace coracle::internals::tcp {
namespace {

/// A peer's hello comes with its connection; but its machine may be busy, or its packets be lost.
constexpr std::uint64_t kHelloLimitNs = 5'000'000'000;

}  // namespace

/// An eighth of the descriptors that the ranks of this process may have, and 64 at most.
std::size_t TcpTransport::unknown_connections_max(Rank& rank) noexcept {
  constexpr std::size_t kMost = 64;
  constexpr std::size_t kFewest = 2;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  const std::size_t ranks = rank.placement() == Placement::thread ? rank.core().region().ranks() : 1;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / (8 * ranks), kFewest, kMost);
}

/// Those who find no place wait in the kernel's queue, where they cost nothing.
Task<> TcpTransport::run_accept(TcpTransport& transport, int listen_fd) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  Io& io = transport.rank_.loop().io();
  Shortage shortage;
  for (;;) {
    if (transport.unknown_.size() >= transport.unknown_max_) transport.drop_unknown_after(kHelloLimitWhenShortNs);
    if (transport.unknown_.size() >= transport.unknown_max_) {
      co_await sleep_for(kPause);
      continue;
    }
    if (transport.has_mostly_left()) co_return;
    SocketAddress from;
    const int fd = accept_next(listen_fd, from);
    if (fd >= 0) {
      transport.accept(fd, to_string(from));
      shortage = {};
      continue;
    }
    const int error = errno;
    co_await io.wait_readable(listen_fd);
    if (!is_shortage(error)) continue;
    // Somebody waits (accept4 would have said so as well if nobody did).
    transport.tell_of(shortage, error);
    transport.make_room();
    co_await sleep_for(kPause);  // others may give some back
  }
}

/// Peers that wait can't tell why: this rank's launcher says that it is well.
void TcpTransport::tell_of(Shortage& shortage, int error) const noexcept {
  const std::uint64_t now_ns = rank_.loop().exact_now_ns();
  const std::uint64_t limit_ns = rank_.core().region().shape().network.silence_limit_ns;
  if (shortage.since_ns == 0) shortage.since_ns = now_ns;
  if (shortage.told || now_ns - shortage.since_ns < limit_ns) return;
  try {
    const std::string what = std::generic_category().message(error);
    const std::string remedy = shortage_remedy(error);
    std::fprintf(stderr, "coracle: rank %u: can't take the connections that wait since %.1f s: %s (%s)\n", rank_.id(),
                 static_cast<double>(limit_ns) / 1e9, what.c_str(), remedy.c_str());
    shortage.told = true;
  } catch (const std::bad_alloc&) {  // then later: whoever accepts goes on
  }
}

void TcpTransport::accept(int fd, std::string address) {
  auto incoming = std::make_unique<Incoming>(*this, rank_, std::move(address), rank_.loop().exact_now_ns());
  Incoming& here = *incoming;
  incoming_.push_back(std::move(incoming));
  unknown_.push_back(&here);
  here.attach(make_stream(here.channel(), fd));
  if (!std::exchange(limiting_hellos_, true)) rank_.service().spawn(run_hello_limit(*this));
}

/// Runs as long as there is anybody to wait for.
Task<> TcpTransport::run_hello_limit(TcpTransport& transport) {
  while (!transport.unknown_.empty()) {
    const std::uint64_t due_ns = transport.unknown_.front()->accepted_ns() + kHelloLimitNs;
    const std::uint64_t now_ns = transport.rank_.loop().exact_now_ns();
    if (due_ns > now_ns) co_await sleep_for(std::chrono::nanoseconds(due_ns - now_ns));
    transport.drop_unknown_after(kHelloLimitNs);
  }
  transport.limiting_hellos_ = false;
}

bool TcpTransport::welcome(Incoming& incoming) noexcept {
  Incoming*& place = outgoing_[incoming.peer()].incoming;
  if (place != nullptr) return false;
  place = &incoming;
  std::erase(unknown_, &incoming);
  return true;
}

void TcpTransport::drop_unknown_after(std::uint64_t limit_ns) noexcept {
  const std::uint64_t now_ns = rank_.loop().exact_now_ns();
  while (!unknown_.empty() && now_ns - unknown_.front()->accepted_ns() >= limit_ns) {
    Incoming& slow = *unknown_.front();
    std::array<char, 80> why{};  // no memory may be left
    fmt::format_to_n(why.data(), why.size() - 1, "it has not said who it is for {} s", limit_ns / 1'000'000'000);
    strangers_.dropped(rank_.id(), slow.address(), why.data());
    tear_down_incoming(slow, true);
  }
}

bool TcpTransport::has_mostly_left() const noexcept {
  return leaving_ && rank_.loop().exact_now_ns() - leaving_since_ns_ >= kHelloLimitWhenShortNs;
}

/// A peer who has come before its program ended too has said so by now, or will soon.
bool TcpTransport::may_have_come_for_us() const noexcept {
  const std::uint64_t now_ns = rank_.loop().exact_now_ns();
  return std::any_of(unknown_.begin(), unknown_.end(), [&](const Incoming* each) {
    return each->accepted_ns() <= leaving_since_ns_ && now_ns - each->accepted_ns() < kHelloLimitWhenShortNs;
  });
}

}  // namespace coracle::internals::tcp
