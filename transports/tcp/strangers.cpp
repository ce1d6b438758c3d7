// Accepting connections, and those who do not say who they are.
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

/// An eighth of the descriptors that the ranks of this process may have, and 64 at most.
std::size_t unknown_connections_max(Rank& rank) noexcept {
  constexpr std::size_t kMost = 64;
  constexpr std::size_t kFewest = 2;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  const std::size_t ranks = rank.placement() == Placement::thread ? rank.core().region().ranks() : 1;
  return std::clamp(static_cast<std::size_t>(limit.rlim_cur) / (8 * ranks), kFewest, kMost);
}

bool is_known(const std::unique_ptr<Incoming>& incoming) noexcept {
  return incoming->channel().greeted();
}

}  // namespace

Strangers::Strangers(ConnectionOwner& owner, Rank& rank, Connections& connections) noexcept
    : owner_(owner), rank_(rank), connections_(connections), places_(unknown_connections_max(rank)) {}

bool Strangers::full() const noexcept {
  const auto& all = connections_.incoming();
  return all.size() - static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_known)) >= places_;
}

Task<> Strangers::accept_all(int listen_fd) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  Shortage shortage;
  for (;;) {
    if (full()) drop_slow();
    if (full()) {  // still
      co_await sleep_for(kPause);
      continue;
    }
    const bool has_mostly_left =
        leaving_since_ns_ != 0 && rank_.loop().exact_now_ns() - leaving_since_ns_ >= kHelloLimitWhenShortNs;
    if (has_mostly_left) co_return;
    SocketAddress from;
    const int fd = accept_next(listen_fd, from);
    if (fd >= 0) {
      take(fd, to_string(from));
      shortage = {};
      continue;
    }
    const int error = errno;
    co_await rank_.loop().io().wait_readable(listen_fd);
    if (!is_shortage(error)) continue;
    // Somebody waits (accept4 would have said so as well if nobody did).
    tell_of(shortage, error);
    owner_.make_room();
    co_await sleep_for(kPause);  // others may give some back
  }
}

/// Peers that wait can't tell why: this rank's launcher says that it is well.
void Strangers::tell_of(Shortage& shortage, int error) const noexcept {
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

void Strangers::report_dropped(const std::string& address, const char* why) noexcept {
  constexpr int kSaidMax = 8;
  if (++dropped_ > kSaidMax) return;
  std::fprintf(stderr, "coracle: rank %u: dropped a connection from %s: %s%s\n", rank_.id(), address.c_str(), why,
               dropped_ == kSaidMax ? " (later ones are not reported)" : "");
}

void Strangers::take(int fd, std::string address) {
  Incoming& here =
      connections_.add(std::make_unique<Incoming>(owner_, rank_, std::move(address), rank_.loop().exact_now_ns()));
  here.attach(owner_.make_stream(here.channel(), fd));
  if (!std::exchange(limiting_hellos_, true)) rank_.service().spawn(limit_hellos());
}

Incoming* Strangers::oldest() const noexcept {
  const auto& all = connections_.incoming();
  const auto found = std::find_if_not(all.begin(), all.end(), is_known);
  return found == all.end() ? nullptr : found->get();
}

/// Runs as long as there is anybody to wait for.
Task<> Strangers::limit_hellos() {
  while (const Incoming* first = oldest()) {
    const std::uint64_t due_ns = first->accepted_ns() + kHelloLimitNs;
    const std::uint64_t now_ns = rank_.loop().exact_now_ns();
    if (due_ns > now_ns) co_await sleep_for(std::chrono::nanoseconds(due_ns - now_ns));
    drop_after(kHelloLimitNs);
  }
  limiting_hellos_ = false;
}

void Strangers::drop_after(std::uint64_t limit_ns) noexcept {
  const std::uint64_t now_ns = rank_.loop().exact_now_ns();
  for (Incoming* slow = oldest(); slow != nullptr && now_ns - slow->accepted_ns() >= limit_ns; slow = oldest()) {
    std::array<char, 80> why{};  // no memory may be left
    fmt::format_to_n(why.data(), why.size() - 1, "it has not said who it is for {} s", limit_ns / 1'000'000'000);
    report_dropped(slow->address(), why.data());
    connections_.close(*slow, true);
  }
}

/// A peer who has come before its program ended too has said so by now, or will soon.
bool Strangers::may_be_needed() const noexcept {
  const std::uint64_t now_ns = rank_.loop().exact_now_ns();
  const auto& all = connections_.incoming();
  return std::any_of(all.begin(), all.end(), [&](const std::unique_ptr<Incoming>& each) {
    return is_known(each) ||
           (each->accepted_ns() <= leaving_since_ns_ && now_ns - each->accepted_ns() < kHelloLimitWhenShortNs);
  });
}

}  // namespace coracle::internals::tcp
