// Connections of the TCP transport: how many there are, who is let in, and what a rank that does not read does to
// others.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <ostream>
#include <thread>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/rank/rpc.hpp"
#include "tests/transports/frame_seeds.hpp"
#include "tests/transports/nodes.hpp"
#include "transports/tcp/tcp.hpp"

namespace tcp_connections_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return fd;
}

/// True when the other side closes the connection within a minute.
bool is_closed(int fd) {
  std::array<char, 4096> bytes;
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 60'000) <= 0) return false;
    if (::recv(fd, bytes.data(), bytes.size(), 0) <= 0) return true;
  }
}

std::uint64_t plus_one(Rank&, std::uint64_t value) {
  return value + 1;
}

Task<> call_everyone(Rank& self) {
  for (std::uint64_t round = 0; round < 30; ++round) {
    for (std::uint32_t step = 1; step < self.size(); ++step) {
      const std::uint64_t answer = co_await self.call((self.id() + step) % self.size(), plus_one, round);
      CHECK(answer == round + 1);
    }
  }
  const auto& tcp = static_cast<tcp::TcpTransport&>(self.core().transport_to((self.id() + 1) % self.size()));
  CHECK(tcp.connections_made() > self.size());  // some were closed and made again
  co_await self.world().barrier();
}

Task<> keep_calling(Rank& self, std::atomic<bool>& stop) {
  std::uint64_t calls = 0;
  while (!stop.load() || calls < 10) {
    if (self.id() == 0) {
      const std::uint64_t answer = co_await self.call(1, plus_one, calls);
      CHECK(answer == calls + 1);
    }
    ++calls;
    co_await sleep_for(1ms);
  }
}

const tcp::TcpTransport& transport_of(Rank& self) {
  return static_cast<const tcp::TcpTransport&>(self.core().transport_to((self.id() + 1) % self.size()));
}

/// Connections that say nothing.
class SilentStrangers {
 public:
  SilentStrangers(std::uint16_t port, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) fds_.push_back(connect_to(port));
  }
  ~SilentStrangers() {
    for (const int fd : fds_) ::close(fd);
  }
  SilentStrangers(const SilentStrangers&) = delete;
  SilentStrangers& operator=(const SilentStrangers&) = delete;
  int first() const { return fds_.front(); }
  int last() const { return fds_.back(); }

 private:
  std::vector<int> fds_;
};

/// A job whose silence limit can't be what ends anything here.
NetworkOptions patient() {
  NetworkOptions network;
  network.silence_limit_ns = 600'000'000'000;
  return network;
}

constexpr int kAnswers = 40;
std::atomic<int> answers = 0;

void count_answer(Rank&, const Message& message) {
  if (message.payload().size() == tcp::kReplyBytesMax) ++answers;
}

void answer_at_length(Rank&, const Message& message) {
  const std::vector<std::byte> payload(tcp::kReplyBytesMax);
  message.reply(count_answer, payload, {});
}

void ignore(Rank&, const Message&) {}

Task<> leave_before_the_answers(Rank& self) {
  co_await self.request(1, ignore, {});  // connected
  co_await self.world().barrier();
  if (self.id() == 1) std::this_thread::sleep_for(100ms);  // it will find the requests and the goodbye together
  if (self.id() == 0) {
    for (int i = 0; i < kAnswers; ++i) co_await self.request(1, answer_at_length, {});
    co_await sleep_for(20ms);
    co_await self.request(2, ignore, {});  // closes the connection to rank 1, since one is the limit
  }
  co_await self.world().barrier();
  co_await self.world().barrier();
}

Task<> call_after_leaving(Rank& self) {
  const std::uint32_t peer = 1 - self.id();
  co_await self.request(peer, ignore, {});
  self.core().routes().leave();
  const std::uint64_t answer = co_await self.call(peer, plus_one, 6);
  CHECK(answer == 7);
}

Task<> flood(Rank& self) {
  constexpr std::size_t kBytes = 1 << 20;
  auto slab = self.allocate<std::byte>(kBytes);
  const auto places = co_await self.world().gather_all(slab.remote());
  if (self.id() == 1) std::this_thread::sleep_for(300ms);  // it reads nothing, and its socket fills
  std::vector<std::byte> data(kBytes, std::byte{7});
  if (self.id() == 0) {
    for (int i = 0; i < 40; ++i) self.put_nbi(std::span<const std::byte>(data), places[1]);
    for (std::size_t i = 0; i < 20'000; ++i) self.put_nbi(std::span<const std::byte>(data).first(8), places[1] + 8);
    for (int i = 0; i < 2000; ++i) self.get_nbi(places[1], std::span(data).first(1));
    co_await self.nbi_done();
  }
  co_await self.world().barrier();
  if (self.id() == 1) CHECK(slab.local().back() == std::byte{7});
  co_await self.world().barrier();
}

}  // namespace

TEST_CASE("tcp: idle connections beyond the limit are closed, and made again when they are needed") {
  NetworkOptions network;
  network.connections_max = 2;
  test::Nodes job({1, 1, 1, 1, 1}, network);
  for (const std::string& outcome : job.run(call_everyone)) CHECK(outcome == "");
}

TEST_CASE("tcp: answers that are still to be sent when their connection is closed arrive") {
  NetworkOptions network;
  network.connections_max = 1;
  network.silence_limit_ns = 2'000'000'000;
  test::Nodes job({1, 1, 1}, network);
  answers = 0;
  for (const std::string& outcome : job.run(leave_before_the_answers)) CHECK(outcome == "");
  CHECK(answers == kAnswers);
}

TEST_CASE("tcp: a connection that is made while a rank takes leave ends with it, however long peers may be silent") {
  test::Nodes job({1, 1}, patient());
  for (const std::string& outcome : job.run(call_after_leaving)) CHECK(outcome == "");
}

TEST_CASE("tcp: strangers are turned away, and the job does not notice") {
  test::Nodes job({1, 1});
  std::atomic<bool> stop = false;
  std::thread strangers([&] {
    const std::string good =
        test::frame_bytes(tcp::FrameType::hello, {tcp::kFrameMagic, tcp::kFrameVersion, 42, 0, 1, 0, 1}, "");
    const std::string junk(100'000, 'x');
    for (const std::string& words : {junk, std::string("GET / HTTP/1.0\r\n\r\n"), good, std::string()}) {
      const int fd = connect_to(job.port(1));
      CHECK(::send(fd, words.data(), words.size(), MSG_NOSIGNAL) >= 0);
      if (words.empty()) ::shutdown(fd, SHUT_RDWR);
      CHECK(is_closed(fd));
      ::close(fd);
    }
    stop = true;
  });
  const auto outcomes = job.run([&stop](Rank& self) { return keep_calling(self, stop); });
  strangers.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("tcp: strangers that say nothing don't keep the job from ending, however long peers may be silent") {
  test::Nodes job({1, 1}, patient());
  const SilentStrangers strangers(job.port(1), 3);
  std::thread watch([&] { CHECK(is_closed(strangers.last())); });
  const auto outcomes = job.run([](Rank& self) -> Task<> {
    while (self.id() == 1 && transport_of(self).connections() < 3) co_await sleep_for(1ms);
    co_await self.world().barrier();
  });
  watch.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("tcp: a stranger that says nothing is dropped soon, however long peers may be silent") {
  test::Nodes job({1, 1}, patient());
  const SilentStrangers strangers(job.port(1), 1);
  std::atomic<bool> stop = false;
  std::thread watch([&] {
    CHECK(is_closed(strangers.first()));
    stop = true;
  });
  const auto outcomes = job.run([&stop](Rank& self) { return keep_calling(self, stop); });
  watch.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
}

TEST_CASE("tcp: however many strangers come, they hold few descriptors at a time, and peers are served") {
  test::Nodes job({1, 1}, patient());
  const SilentStrangers strangers(job.port(1), 100);
  std::atomic<bool> stop = false;
  std::atomic<std::size_t> most = 0;
  std::thread watch([&] {
    CHECK(is_closed(strangers.last()));  // so all of them have had their turn
    stop = true;
  });
  const auto outcomes = job.run([&](Rank& self) -> Task<> {
    while (!stop.load()) {
      if (self.id() == 0) co_await self.call(1, plus_one, std::uint64_t{1});
      if (self.id() == 1) most = std::max(most.load(), transport_of(self).connections());
      co_await sleep_for(1ms);
    }
  });
  watch.join();
  for (const std::string& outcome : outcomes) CHECK(outcome == "");
  CHECK(most > 0);
  CHECK(most <= 64 + 2);
}

TEST_CASE("tcp: a peer that does not read for a while loses nothing") {
  test::Nodes job({1, 1});
  for (const std::string& outcome : job.run(flood)) CHECK(outcome == "");
}

TEST_CASE("tcp: who can't be reached is lost, and the error says where it was looked for") {
  test::Nodes job({1, 1});
  job.region_of(0).port(1) = job.region_of(1).port(0) = 1;  // where nobody listens
  std::string text;
  const auto outcomes = job.run([&text](Rank& self) -> Task<> {
    if (self.id() == 0) {
      const auto answer = co_await as_result(self.call(1, plus_one, std::uint64_t{1}));
      CHECK(answer.code() == Errc::peer_lost);
      if (!answer.ok()) text = answer.error().what();
      const auto again = co_await as_result(self.call(1, plus_one, std::uint64_t{1}));
      CHECK(again.code() == Errc::peer_lost);
    }
  });
  CHECK_MESSAGE(text.find("can't connect to 127.0.0.1:1: Connection refused") != std::string::npos, text);
}

}  // namespace tcp_connections_test
