// Ranks that have no descriptor left, and peers that can't be reached at once.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/core/combinators.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rpc.hpp"
#include "tests/sanitized.hpp"
#include "tests/transports/nodes.hpp"

namespace shortage_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

/// Where this is set, the next so many connections find no port to begin at.
std::atomic<int> connects_without_port = 0;
/// The system has this address no more, and no other to go there from.
std::atomic<bool> has_no_address = false;

}  // namespace

/// In place of the C library's.
extern "C" int connect(int fd, const sockaddr* address, socklen_t bytes) {
  const auto* inet = reinterpret_cast<const sockaddr_in*>(address);
  const bool to_loopback = address->sa_family == AF_INET && inet->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
  int type = 0;
  socklen_t type_bytes = sizeof type;
  ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes);
  const bool refused = to_loopback && (has_no_address || (type == SOCK_STREAM && connects_without_port > 0));
  if (!refused) return static_cast<int>(::syscall(SYS_connect, fd, address, bytes));
  if (!has_no_address) --connects_without_port;
  errno = EADDRNOTAVAIL;
  return -1;
}

namespace {

/// While it lives this process gets no new descriptor: its limit is what it has, and what is free below is taken.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 2;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
      highest = std::max(highest, std::stoi(entry.path().filename().string()));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(highest) + 1;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    for (int fd = ::fcntl(0, F_DUPFD_CLOEXEC, 0); fd >= 0; fd = ::fcntl(0, F_DUPFD_CLOEXEC, 0)) taken_.push_back(fd);
    REQUIRE(errno == EMFILE);
  }
  ~NoDescriptors() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : taken_) ::close(fd);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> taken_;
};

std::uint64_t plus_one(Rank&, std::uint64_t value) {
  return value + 1;
}

void ignore(Rank&, const Message&) {}

Task<> wait_for(const std::atomic<bool>& flag) {
  while (!flag.load()) co_await sleep_for(1ms);
}

/// Ranks of one process share its descriptors: rank 1 has all that it wants before rank 0 takes the rest.
struct Rank1 {
  Task<> live() {
    started = true;
    return wait_for(may_end);
  }
  std::atomic<bool> started = false;
  std::atomic<bool> may_end = false;
};

Task<> give_back_soon(std::optional<NoDescriptors>& none) {
  co_await sleep_for(100ms);
  none.reset();
}

}  // namespace

TEST_CASE("tcp: without a descriptor every kind of operation fails with what to do, and the peer is not lost") {
  if (test::kSanitized) {
    MESSAGE("not run: UBSan looks at objects through pipes, for which nothing is left");
    return;
  }
  NetworkOptions network;
  network.silence_limit_ns = 300'000'000;
  test::Nodes job({1, 1}, network);
  Rank1 other;
  const auto outcomes = job.run([&other](Rank& self) -> Task<> {
    if (self.id() == 1) co_return co_await other.live();
    co_await wait_for(other.started);
    {
      const NoDescriptors none;
      std::uint64_t word = 0;
      const Remote<std::uint64_t> there(RemoteAddress{TeamArea::kWorldBytes, 1, RemoteAddress::kOwnSegment});
      const auto message = co_await as_result(self.request(1, ignore, {}));
      const auto get = co_await as_result(self.get(there, std::span(&word, 1)));
      const auto add = co_await as_result(self.fetch_add(there, 1));
      const auto call = co_await as_result(self.call(1, plus_one, std::uint64_t{1}));
      for (const std::error_code& code : {message.code(), get.code(), add.code(), call.code()})
        CHECK(code == std::errc::too_many_files_open);
      for (const std::string text : {message.error().what(), get.error().what(), call.error().what()}) {
        CHECK_MESSAGE(text.find("with rank 1 failed: Too many open files (this process may have ") != std::string::npos,
                      text);
        CHECK_MESSAGE(text.find("raise ulimit -n") != std::string::npos, text);
      }
      CHECK_FALSE(self.lost(1));
    }
    const std::uint64_t answer = co_await self.call(1, plus_one, std::uint64_t{1});
    CHECK(answer == 2);
    other.may_end = true;
  });
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("tcp: an operation waits for a descriptor, and goes on when there is one") {
  if (test::kSanitized) {
    MESSAGE("not run: UBSan looks at objects through pipes, for which nothing is left");
    return;
  }
  NetworkOptions network;
  network.silence_limit_ns = 600'000'000'000;
  test::Nodes job({1, 1}, network);
  Rank1 other;
  const auto outcomes = job.run([&other](Rank& self) -> Task<> {
    if (self.id() == 1) co_return co_await other.live();
    co_await wait_for(other.started);
    std::optional<NoDescriptors> none;
    none.emplace();
    const auto both = co_await when_all(self.call(1, plus_one, std::uint64_t{1}), give_back_soon(none));
    CHECK(std::get<0>(both) == 2);
    other.may_end = true;
  });
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("tcp: a peer whose address has no way to it is lost, with the reason, by every kind of operation") {
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    test::Nodes job({1, 1});
    // TCP does not go to where everybody is: refused at once, without a packet.
    for (const std::uint32_t node : {0U, 1U})
      job.region_of(node).node(1 - node).addresses[0].bytes = {255, 255, 255, 255};
    std::string text;
    const auto outcomes = job.run([&](Rank& self) -> Task<> {
      if (self.id() == 1) co_return;
      std::uint64_t word = 0;
      const Remote<std::uint64_t> there(RemoteAddress{TeamArea::kWorldBytes, 1, RemoteAddress::kOwnSegment});
      Result<> outcome;
      if (kind == 0) outcome = co_await as_result(self.put(std::span<const std::uint64_t>(&word, 1), there));
      if (kind == 1) outcome = co_await as_result(self.get(there, std::span(&word, 1)));
      if (kind == 2) outcome = co_await as_result(self.request(1, ignore, {}));
      CHECK(outcome.code() == Errc::peer_lost);
      if (!outcome.ok()) text = outcome.error().what();
    });
    CHECK_MESSAGE(text.find("can't connect to 255.255.255.255:") != std::string::npos, text);
    CHECK_MESSAGE(text.find("Network is unreachable") != std::string::npos, text);
  }
}

namespace {

constexpr int kEndless = 1'000'000'000;

/// A get from rank 1 while the system has no port, or no address: its outcome. Rank 1 must not be lost by it.
Task<Result<>> get_without_way(Rank& self) {
  std::uint64_t word = 0;
  const Remote<std::uint64_t> there(RemoteAddress{TeamArea::kWorldBytes, 1, RemoteAddress::kOwnSegment});
  const auto outcome = co_await as_result(self.get(there, std::span(&word, 1)));
  connects_without_port = 0;
  has_no_address = false;
  CHECK_FALSE(self.lost(1));
  // Later ones may succeed.
  co_await self.get(there, std::span(&word, 1));
  co_return outcome;
}

/// What the get ends with; `second_address`: of rank 1's node, where nobody gets to.
Error error_without_way(bool second_address) {
  NetworkOptions network;
  network.silence_limit_ns = 300'000'000;
  test::Nodes job({1, 1}, network);
  NodeRecord& peers = job.region_of(0).node(1);
  if (second_address) {
    peers.addresses[1].family = NodeAddress::Family::ipv4;
    peers.addresses[1].bytes = {255, 255, 255, 255};
  }
  Rank1 other;
  std::optional<Error> error;
  const auto outcomes = job.run([&](Rank& self) -> Task<> {
    if (self.id() == 1) co_return co_await other.live();
    co_await wait_for(other.started);
    const Result<> outcome = co_await get_without_way(self);
    CHECK_FALSE(outcome.ok());
    if (!outcome.ok()) error = outcome.error();
    other.may_end = true;
  });
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
  REQUIRE(error.has_value());
  return *error;
}

}  // namespace

TEST_CASE(
    "tcp: without a free port operations fail with what to do, and no peer is lost, one of several addresses too") {
  for (const bool second_address : {false, true}) {
    CAPTURE(second_address);
    connects_without_port = kEndless;
    const Error error = error_without_way(second_address);
    CHECK(error.code() == std::errc::address_not_available);
    const std::string text = error.what();
    CHECK_MESSAGE(text.find("connecting to 127.0.0.1:") != std::string::npos, text);
    CHECK_MESSAGE(text.find("no local port is free: widen sysctl net.ipv4.ip_local_port_range") != std::string::npos,
                  text);
  }
}

TEST_CASE("tcp: a rank whose machine has lost its address says so, and does not take its peer for lost") {
  has_no_address = true;
  const Error error = error_without_way(false);
  CHECK(error.code() == std::errc::address_not_available);
  const std::string text = error.what();
  CHECK_MESSAGE(text.find("this machine has no address from which it could connect to 127.0.0.1:") != std::string::npos,
                text);
  CHECK_MESSAGE(text.find("no local port") == std::string::npos, text);
}

TEST_CASE("tcp: an operation waits for a port, and goes on when there is one") {
  NetworkOptions network;
  network.silence_limit_ns = 600'000'000'000;
  test::Nodes job({1, 1}, network);
  Rank1 other;
  connects_without_port = 3;
  const auto outcomes = job.run([&other](Rank& self) -> Task<> {
    if (self.id() == 1) co_return co_await other.live();
    co_await wait_for(other.started);
    const std::uint64_t answer = co_await self.call(1, plus_one, std::uint64_t{1});
    CHECK(answer == 2);
    CHECK(connects_without_port == 0);
    other.may_end = true;
  });
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

}  // namespace shortage_test
