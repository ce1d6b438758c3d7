// Messages in both directions at once, a loop that sleeps until something comes, and peers that fail.
#include <array>
#include <atomic>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/verbs/checks.hpp"

namespace coracle::internals::verbs_checks {
namespace {

using conformance::pattern;

struct Received {
  explicit Received(Rank&) {}
  std::uint64_t messages = 0;
  std::uint64_t replies = 0;
  bool good = true;
};

void on_message(Rank& rank, const Message& message) {
  Received& received = rank.local<Received>();
  const std::uint64_t number = message.argument(0);
  if (number != ++received.messages) received.good = false;  // in order, none lost, none doubled
  for (std::size_t i = 0; i < message.payload().size(); ++i)
    if (message.payload()[i] != pattern(message.source(), i, number)) received.good = false;
}

void on_nothing(Rank&, const Message&) {}

void on_reply(Rank& rank, const Message& message) {
  Received& received = rank.local<Received>();
  ++received.replies;
  if (message.argument(0) != 42 + message.source() || message.payload().size() != message.argument(1))
    received.good = false;
}

void on_question(Rank& rank, const Message& message) {
  message.reply(on_reply, message.payload(), {42 + rank.id(), message.payload().size()});
}

}  // namespace

Task<> messages(Pair pair) {
  Rank& self = pair.self;
  Received& received = self.local<Received>();
  constexpr std::uint64_t kCount = 600;
  constexpr std::size_t kSizes[] = {0, 8, 100, 220, 4096, 8191, 8192, 8193, 100'000, 0, 3'000'000};
  std::vector<std::byte> payload;
  std::error_code code;
  for (std::uint64_t number = 1; number <= kCount; ++number) {
    payload.resize(kSizes[number * 7 % (number % 100 == 0 ? 11 : 9)]);
    for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = pattern(self.id(), i, number);
    code = co_await pair.request(on_message, payload, number);
    CHECK_HERE(!code);
  }
  while (received.messages < kCount) co_await yield();
  CHECK_HERE(received.good);
  constexpr std::uint64_t kQuestions = 500;  // more than there are slots
  for (std::uint64_t i = 0; i < kQuestions; ++i) {
    payload.resize(i % 5 == 0 ? 8192 : 11);
    code = co_await pair.request(on_question, payload, 0);
    CHECK_HERE(!code);
  }
  while (received.replies < kQuestions) co_await yield();
  CHECK_HERE(received.good);
}

Task<> sleeping(Pair pair) {
  Rank& self = pair.self;
  auto signal = self.allocate_signals(1);
  const auto places = co_await self.world().gather_all(signal.remote());
  const std::uint64_t before = self.loop().sleep_count();
  for (std::uint64_t round = 1; round <= 20; ++round) {
    if (self.id() == round % 2) {
      co_await sleep_for(std::chrono::milliseconds(30));  // by then the other has gone to sleep
      const std::error_code code =
          co_await pair.put_signal({}, places[pair.peer].address(), places[pair.peer].address());
      CHECK_HERE(!code);
    } else {
      co_await self.wait(signal[0], (round + 1 - self.id()) / 2);
    }
  }
  CHECK_HERE(self.loop().sleep_count() > before);
}

namespace {

/// Rank 0 has lost rank 1, so that no operation reaches it any more: a flag in its memory does.
void tell_end(Rank& self, Remote<std::uint64_t> flag) {
  // release: pairs with the acquire below.
  std::atomic_ref<std::uint64_t>(*self.reach(flag)).store(1, std::memory_order_release);
}

Task<> await_end(Rank& self, std::uint64_t& flag) {
  while (std::atomic_ref<std::uint64_t>(flag).load(std::memory_order_acquire) == 0)  // as above
    co_await sleep_for(std::chrono::milliseconds(5));
  self.core().peer_lost({0, "it has lost this rank"});
}

}  // namespace

Task<> bad_key(Pair pair) {
  Rank& self = pair.self;
  auto slab = self.allocate<std::byte>(10'000);
  auto flag = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  const auto flags = co_await self.world().gather_all(flag.remote());
  const std::vector<std::byte> data(10'000, std::byte{7});
  if (self.id() == 1) {
    co_await await_end(self, flag[0]);
    co_return;
  }
  std::error_code code = co_await pair.put(data, places[1].address());
  CHECK_HERE(!code);
  pair.transport.connections().peer_of(1).address.segment_key ^= 0x5a5a00;
  code = co_await pair.put(data, places[1].address());
  CHECK_HERE(code == Errc::out_of_segment);
  code = co_await pair.put(data, places[1].address());
  CHECK_HERE(code == Errc::peer_lost);
  CHECK_HERE(pair.transport.in_flight() == 0);
  CHECK_HERE(self.core().peers().lost(1));
  tell_end(self, flags[1]);
}

namespace {

Task<> until_failure(Pair pair, std::uint32_t kind, RemoteAddress there, std::error_code& code) {
  std::vector<std::byte> data(100'000);
  while (!code) {
    if (kind == 0) code = co_await pair.put(data, there);
    if (kind == 1) code = co_await pair.get(there, data);
    if (kind == 2) code = co_await pair.request(on_nothing, data, 1);
    if (kind == 3) code = co_await pair.atomic(Operation::Verb::fetch_add, there, 8, 1);
  }
}

}  // namespace

/// Rank 1's end of the connection vanishes while rank 0 has operations of all kinds in flight: each fails, none hangs.
Task<> death(Pair pair) {
  Rank& self = pair.self;
  auto slab = self.allocate<std::byte>(100'000);
  auto flag = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  const auto flags = co_await self.world().gather_all(flag.remote());
  if (self.id() == 1) {
    co_await sleep_for(std::chrono::milliseconds(500));
    pair.owned.end();
    co_await await_end(self, flag[0]);
    co_return;
  }
  std::array<std::error_code, 4> codes;
  std::vector<Task<>> tasks;
  for (std::uint32_t kind = 0; kind < codes.size(); ++kind)
    tasks.push_back(until_failure(pair, kind, places[1].address(), codes[kind]));
  co_await when_all(std::move(tasks));
  for (const std::error_code& code : codes) CHECK_HERE(code == Errc::peer_lost);
  CHECK_HERE(pair.transport.in_flight() == 0);
  CHECK_HERE(self.core().peers().lost(1));
  tell_end(self, flags[1]);
}

}  // namespace coracle::internals::verbs_checks
