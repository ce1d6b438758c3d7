// Messages, calls and collectives.
#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/timer.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

/// What the handlers note on their rank.
struct Received {
  explicit Received(Rank&) {}
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t replies = 0;
  std::uint64_t wide_replies = 0;
  bool good = true;
  std::vector<std::uint64_t> last_of;  // by source: number of its last message
};

void on_message(Rank& rank, const Message& message) {
  Received& received = rank.local<Received>();
  received.last_of.resize(rank.size());
  ++received.messages;
  received.bytes += message.payload().size();
  const std::uint64_t number = message.argument(0);
  if (number != ++received.last_of[message.source()]) received.good = false;  // in order, none lost, none doubled
  if (!holds_pattern(message.payload(), message.source(), number)) received.good = false;
}

void on_reply(Rank& rank, const Message& message) {
  Received& received = rank.local<Received>();
  ++received.replies;
  if (message.argument(0) != 42 + message.source() || message.payload().size() != 11) received.good = false;
}

void on_question(Rank& rank, const Message& message) {
  message.reply(on_reply, message.payload().first(11), {42 + rank.id()});
}

void on_wide_reply(Rank& rank, const Message& message) {
  Received& received = rank.local<Received>();
  const std::uint64_t number = message.argument(0);
  if (number != ++received.wide_replies) received.good = false;  // as on_message
  if (!holds_pattern(message.payload(), message.source(), number)) received.good = false;
}

void on_wide_question(Rank& rank, const Message& message) {
  constexpr std::size_t kBytesMax = 8160;  // with its header 128 lines of a ring of 1024
  std::vector<std::byte> payload(std::min(kBytesMax, message.reply_bytes_max()));
  write_pattern(payload, rank.id(), message.argument(0));
  message.reply(on_wide_reply, payload, {message.argument(0)});
}

/// Replies that fill the asker's ring to its last line, and mostly have all come before it looks.
Task<> wide_replies(Rank& self) {
  constexpr std::uint64_t kAtOnce = 8;
  constexpr std::uint64_t kRounds = 8;
  constexpr std::uint64_t kUnseenNs = 2'000'000;
  Received& received = self.local<Received>();
  for (std::uint64_t number = 1; self.id() == 0 && number <= kAtOnce * kRounds; ++number) {
    co_await self.request(self.size() - 1, on_wide_question, {}, number);
    if (number % kAtOnce != 0) continue;
    const std::uint64_t until_ns = real_clock().now_ns() + kUnseenNs;
    while (real_clock().now_ns() < until_ns) continue;
    while (received.wide_replies < number) co_await yield();
    CHECK_HERE(received.wide_replies == number && received.good);
  }
  co_await self.world().barrier();
}

Task<> send_many(Rank& self, std::uint32_t peer, std::uint64_t count, std::size_t& sent_bytes) {
  std::vector<std::byte> payload;
  for (std::uint64_t number = 1; number <= count; ++number) {
    // Sizes around what fits one line, the eager limit, and rendezvous.
    constexpr std::size_t kSizes[] = {0, 8, 31, 32, 33, 100, 4096, 8192, 8193, 100'000};
    const std::size_t bytes = kSizes[(number * 7 + self.id()) % std::size(kSizes)];
    payload.resize(bytes);
    write_pattern(payload, self.id(), number);
    co_await self.request(peer, on_message, payload, number);
    sent_bytes += bytes;
  }
}

int add(Rank& rank, int left, int right) {
  return left + right + static_cast<int>(rank.id());
}
std::string greet(Rank& rank, std::string name) {
  return "hello " + name + " from " + std::to_string(rank.id());
}
Task<std::vector<double>> make_series(Rank& rank, std::uint64_t count) {
  co_await yield();
  std::vector<double> series(count);
  std::iota(series.begin(), series.end(), static_cast<double>(rank.id()));
  co_return series;
}
Task<int> refuse_later(Rank&, int) {
  co_await yield();
  throw std::runtime_error("I refuse later");
}
Task<> fail_in_service() {
  co_await yield();
  throw Error(Errc::unsupported, "this failure of a service task is part of the test");
}
void on_failing_service(Rank& rank, const Message&) {
  rank.service().spawn(fail_in_service());
}
int refuse(Rank&, int) {
  throw std::runtime_error("I refuse");
}
Task<int> ask_next(Rank& rank, int depth) {
  if (depth == 0) co_return static_cast<int>(rank.id());
  const int below = co_await rank.call((rank.id() + 1) % rank.size(), ask_next, depth - 1);
  co_return below;
}

Task<> broadcasts(Rank& self, Team& team) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{8192}, std::size_t{8193}, std::size_t{300'000}}) {
    for (std::uint32_t root = 0; root < std::min(team.size(), 4U); ++root) {
      std::vector<std::byte> data(bytes);
      if (team.index() == root) write_pattern(data, root, bytes);
      co_await team.broadcast(std::span(data), root);
      CHECK_HERE(holds_pattern(data, root, bytes));
    }
  }
}

Task<> broadcast_value(Team& team, std::uint64_t& value, std::uint32_t root) {
  co_await team.broadcast(std::span(&value, 1), root);
}

Task<> many_in_flight(Rank& self) {
  std::vector<std::uint64_t> values(20);
  std::vector<Task<>> tasks;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t root = i % self.size();
    if (self.id() == root) values[i] = 100 + i;
    tasks.push_back(broadcast_value(self.world(), values[i], root));
    tasks.push_back(self.world().barrier());
  }
  co_await when_all(std::move(tasks));
  for (std::uint32_t i = 0; i < values.size(); ++i) CHECK_HERE(values[i] == 100 + i);
}

Task<> teams(Rank& self) {
  auto half = co_await self.world().split(self.id() % 2, self.size() - self.id());
  CHECK_HERE(half->size() == (self.size() + 1 - self.id() % 2) / 2);
  CHECK_HERE(half->member(half->index()) == self.id());
  const std::uint32_t sum = co_await half->all_reduce(self.id(), std::plus<>{});
  std::uint32_t expected = 0;
  for (std::uint32_t rank = self.id() % 2; rank < self.size(); rank += 2) expected += rank;
  CHECK_HERE(sum == expected);
  co_await broadcasts(self, *half);
  auto quarter = co_await half->split(half->index() / 2, 0);
  co_await quarter->barrier();
  const auto ids = co_await quarter->gather_all(self.id());
  for (std::uint32_t i = 0; i < quarter->size(); ++i) CHECK_HERE(ids[i] == quarter->member(i));
}

}  // namespace

Task<> messages(Rank& self) {
  constexpr std::uint64_t kCount = 300;
  std::size_t sent_bytes = 0;
  std::vector<Task<>> tasks;
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) tasks.push_back(send_many(self, peer, kCount, sent_bytes));
  co_await when_all(std::move(tasks));
  Received& received = self.local<Received>();
  while (received.messages < kCount * self.size()) co_await yield();
  CHECK_HERE(received.good);
  const std::uint64_t sent = co_await self.world().all_reduce(std::uint64_t{sent_bytes}, std::plus<>{});
  const std::uint64_t got = co_await self.world().all_reduce(received.bytes, std::plus<>{});
  CHECK_HERE(sent == got);

  std::vector<std::byte> eleven(11);
  for (std::uint32_t round = 0; round < 100; ++round)
    for (std::uint32_t peer = 0; peer < self.size(); ++peer) co_await self.request(peer, on_question, eleven);
  while (received.replies < 100 * self.size()) co_await yield();
  CHECK_HERE(received.good);
  co_await wide_replies(self);
}

Task<> calls(Rank& self) {
  const std::uint32_t peer = (self.id() + 1) % self.size();
  const int sum = co_await self.call(peer, add, 3, 4);
  CHECK_HERE(sum == 7 + static_cast<int>(peer));
  const std::string text = co_await self.call(peer, greet, std::string(20'000, 'x'));
  CHECK_HERE(text.size() == 20'000 + 12 + std::to_string(peer).size());
  const std::vector<double> series = co_await self.call(peer, make_series, std::uint64_t{5000});
  CHECK_HERE(series.size() == 5000 && series[4999] == 4999.0 + peer);
  const std::uint32_t id = co_await self.call(peer, [](Rank& rank) { return rank.id(); });
  CHECK_HERE(id == peer);
  const int end = co_await self.call(peer, ask_next, 5);
  CHECK_HERE(end == static_cast<int>((self.id() + 6) % self.size()));
  std::string refusal;
  try {
    co_await self.call(peer, refuse, 1);
  } catch (const Error& error) {
    refusal = error.what();
  }
  CHECK_HERE(refusal.find("I refuse") != std::string::npos);
  auto later = co_await as_result(self.call(peer, refuse_later, 1));
  CHECK_HERE(!later.ok() && std::string(later.error().what()).find("I refuse later") != std::string::npos);
  if (self.id() == 0) co_await self.request(peer, on_failing_service, {});
  co_await self.world().barrier();
  const std::vector<double> still =
      co_await self.call(peer, make_series, std::uint64_t{3});  // the others are served on
  CHECK_HERE(still.size() == 3);
}

Task<> collectives(Rank& self) {
  Team& world = self.world();
  for (int i = 0; i < 50; ++i) co_await world.barrier();
  co_await broadcasts(self, world);
  const auto ids = co_await world.gather_all(self.id() * 3);
  CHECK_HERE(ids.size() == self.size());
  for (std::uint32_t rank = 0; rank < self.size(); ++rank) CHECK_HERE(ids[rank] == rank * 3);
  const std::uint64_t sum = co_await world.all_reduce(std::uint64_t{self.id()}, std::plus<>{});
  CHECK_HERE(sum == std::uint64_t{self.size()} * (self.size() - 1) / 2);
  std::vector<double> values(5000, self.id());
  co_await world.all_reduce(std::span(values), [](double left, double right) { return std::max(left, right); });
  for (const double value : values) CHECK_HERE(value == self.size() - 1);
  co_await many_in_flight(self);
  co_await teams(self);
}

}  // namespace coracle::internals::conformance
