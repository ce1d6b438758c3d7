// Ranks that have no descriptor left, and peers that can't be reached at once.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/combinators.hpp"
#include "runtime/rpc.hpp"
#include "tests/sanitized.hpp"
#include "tests/transports/nodes.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

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
  if (::test::kSanitized) {
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
      const Remote<std::uint64_t> there(RemoteAddress{TeamArea::kAllBytes, 1, RemoteAddress::kOwnSegment});
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
  if (::test::kSanitized) {
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
      const Remote<std::uint64_t> there(RemoteAddress{TeamArea::kAllBytes, 1, RemoteAddress::kOwnSegment});
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
