// The message and signal protocols for a thousand seeds: jobs of random shape on random networks, in which messages of
// all kinds, puts with signals, atomics and calls go on at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"

namespace sim_protocol_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr std::uint32_t kRanksMax = 8;
using Counts = std::array<std::uint64_t, kRanksMax>;

/// What a rank's handlers have seen.
struct Seen {
  explicit Seen(Rank&) {}
  Counts messages{};   // by source
  Counts forwarded{};  // by origin
  std::uint64_t replies = 0;
  const char* fault = nullptr;

  void note(bool good, const char* what) {
    if (!good && fault == nullptr) fault = what;
  }
};

std::byte byte_of(std::uint64_t source, std::uint64_t number, std::size_t place) {
  return static_cast<std::byte>((source * 89 + number * 31 + place + place / 251) & 0xff);
}
void fill(std::span<std::byte> bytes, std::uint64_t source, std::uint64_t number) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = byte_of(source, number, i);
}

void on_message(Rank& rank, const Message& message) {
  Seen& seen = rank.local<Seen>();
  const std::uint64_t number = message.argument(0);
  seen.note(number == ++seen.messages[message.source()], "a message came out of order, twice, or not at all");
  seen.note(message.payload().size() == message.argument(1), "a message has another length");
  for (std::size_t i = 0; i < message.payload().size(); ++i)
    seen.note(message.payload()[i] == byte_of(message.source(), number, i), "a message has other bytes");
}

void on_forwarded(Rank& rank, const Message& message) {
  ++rank.local<Seen>().forwarded[message.argument(0)];
}

Task<> forward(Rank& rank, std::uint64_t origin) {
  co_await rank.request(static_cast<std::uint32_t>((rank.id() + origin) % rank.size()), on_forwarded, {}, origin);
}

void on_answer(Rank& rank, const Message& message) {
  Seen& seen = rank.local<Seen>();
  ++seen.replies;
  seen.note(message.payload().size() == message.argument(0), "a reply has another length");
}

/// A handler that replies, and has more to do than a handler may.
void on_question(Rank& rank, const Message& message) {
  const std::size_t bytes = std::min(message.payload().size(), rank.core().transport().reply_bytes_max());
  message.reply(on_answer, message.payload().first(bytes), {bytes});
  rank.service().spawn(forward(rank, message.source()));
}

Task<> send_one(Rank& self, std::uint32_t peer, std::size_t bytes, std::uint64_t number) {
  std::vector<std::byte> payload(bytes);
  fill(payload, self.id(), number);
  co_await self.request(peer, on_message, payload, number, payload.size());
  std::fill(payload.begin(), payload.end(), std::byte{0xee});  // ours again: what is under way must not change
}

/// In bursts: the messages of one are under way, or wait for room, together.
Task<> send_messages(Rank& self, Random& random, Counts& sent) {
  const std::size_t eager = self.core().transport().traits().eager_bytes_max;
  const std::size_t sizes[] = {0, 1, 8, 100, eager - 1, eager, eager + 1, 3 * eager};
  for (int i = 0; i < 6; ++i) {
    const auto peer = static_cast<std::uint32_t>(random.below(self.size()));
    std::vector<Task<>> burst;
    for (std::uint64_t left = 1 + random.below(5); left > 0; --left)
      burst.push_back(send_one(self, peer, sizes[random.below(std::size(sizes))], ++sent[peer]));
    co_await when_all(std::move(burst));
  }
}

Task<> ask_questions(Rank& self, std::uint64_t seed, std::uint64_t& asked) {
  Random random(seed);
  std::vector<std::byte> payload(64);
  for (; asked < 8; ++asked)
    co_await self.request(static_cast<std::uint32_t>(random.below(self.size())), on_question, payload);
}

struct Places {
  Remote<std::uint64_t> data;
  Remote<Signal> signals;  // by sender: raised with data; and behind them, by receiver: "I have read it"
  Remote<std::uint64_t> counter;
};

constexpr std::uint64_t kRounds = 4;
constexpr std::size_t kWords = 100;

Task<> put_with_signals(Rank& self, std::uint32_t peer, const std::vector<Places>& places, Slab<Signal>& signals) {
  std::vector<std::uint64_t> words(kWords);
  const auto mine = static_cast<std::ptrdiff_t>(self.id());
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    std::fill(words.begin(), words.end(), self.id() * 1000 + round);
    const auto target = places[peer].data + mine * static_cast<std::ptrdiff_t>(kWords);
    co_await self.put_signal(std::span<const std::uint64_t>(words), target, places[peer].signals + mine);
    std::fill(words.begin(), words.end(), 0);
    co_await self.wait(signals[self.size() + peer], round);
  }
}

Task<> read_with_signals(Rank& self, std::uint32_t peer, const std::vector<Places>& places, Slab<Signal>& signals,
                         Slab<std::uint64_t>& data) {
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    co_await self.wait(signals[peer], round);
    for (std::size_t i = 0; i < kWords; ++i) EXPECT(data[peer * kWords + i] == peer * 1000 + round);
    co_await self.raise(places[peer].signals + static_cast<std::ptrdiff_t>(self.size() + self.id()));
  }
}

Task<std::uint64_t> hop(Rank& rank, std::uint64_t left, std::uint64_t stride) {
  if (left == 0) co_return rank.id();
  const auto next = static_cast<std::uint32_t>((rank.id() + stride) % rank.size());
  const std::uint64_t end = co_await rank.call(next, hop, left - 1, stride);
  co_return end;
}

Task<> call_around(Rank& self, std::uint64_t stride, Remote<std::uint64_t> counter) {
  const std::uint64_t end = co_await self.call(self.id(), hop, std::uint64_t{4}, stride);
  EXPECT(end == (self.id() + 4 * stride) % self.size());
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t old = co_await self.fetch_add(counter, 1);
    EXPECT((i == 0 || old > previous));
    previous = old;
  }
}

/// Waits for all that others have sent here, and makes sure that no more comes.
Task<> settle(Rank& self, const Counts& sent) {
  Seen& seen = self.local<Seen>();
  const auto all_sent = co_await self.world().gather_all(sent);
  const auto complete = [&] {
    for (std::uint32_t source = 0; source < self.size(); ++source)
      if (seen.messages[source] < all_sent[source][self.id()]) return false;
    return seen.replies >= 8 && seen.fault == nullptr;
  };
  for (int tries = 0; tries < 1000 && !complete(); ++tries) co_await sleep_for(std::chrono::microseconds(10));
  co_await self.world().barrier();
  co_await sleep_for(std::chrono::milliseconds(1));
  if (seen.fault != nullptr) throw std::runtime_error(seen.fault);
  for (std::uint32_t source = 0; source < self.size(); ++source)
    EXPECT(seen.messages[source] == all_sent[source][self.id()]);
  EXPECT(seen.replies == 8);
  const auto all_forwarded = co_await self.world().gather_all(seen.forwarded);
  std::uint64_t forwarded = 0;
  for (const Counts& counts : all_forwarded) forwarded += counts[self.id()];
  EXPECT(forwarded == 8);
}

Task<> protocol(Rank& self, std::uint64_t seed) {
  Random random(seed * 977 + self.id());
  auto data = self.allocate<std::uint64_t>(kWords * self.size());
  auto signals = self.allocate_signals(2 * self.size());
  auto counter = self.allocate<std::uint64_t>(1);
  const auto places = co_await self.world().gather_all(Places{data.remote(), signals.remote(), counter.remote()});
  Counts sent{};
  std::uint64_t asked = 0;
  std::vector<Task<>> tasks;
  tasks.push_back(send_messages(self, random, sent));
  tasks.push_back(ask_questions(self, random.next(), asked));
  tasks.push_back(call_around(self, random.below(self.size()), places[0].counter));
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
    tasks.push_back(put_with_signals(self, peer, places, signals));
    tasks.push_back(read_with_signals(self, peer, places, signals, data));
  }
  co_await when_all(std::move(tasks));
  co_await self.world().barrier();
  if (self.id() == 0) EXPECT(counter[0] == 5 * self.size());
  co_await settle(self, sent);
}

/// A job whose shape and network depend on the seed.
SimJob job_of(std::uint64_t seed) {
  Random random(seed);
  SimJob job;
  job.seed = seed;
  job.size = 1 + static_cast<std::uint32_t>(random.below(kRanksMax));
  job.nodes = 1 + static_cast<std::uint32_t>(random.below(job.size));
  job.model.jitter_ns = std::uint64_t{1} << random.below(16);
  job.model.reorder = random.below(4) != 0;
  job.model.eager_bytes_max = 64 + random.below(1000);
  job.model.inbox_bytes = job.model.eager_bytes_max + kMessageOverheadBytes + random.below(2000);
  return job;
}

}  // namespace

TEST_CASE("messages, signals, atomics and calls keep what they promise, for 1,000 seeds") {
  const test::Seeds seeds("CORACLE_PROTOCOL_SEEDS", 1000);
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    const SimulationResult outcome = job_of(seed).run([seed](Rank& self) { return protocol(self, seed); });
    REQUIRE(text_of(outcome) == "");
  }
}

TEST_CASE("the same seed gives the same run, event by event; another seed gives another") {
  std::vector<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    SimJob job = job_of(5);  // one shape, many schedules
    job.seed = seed;
    const App app = [](Rank& self) { return protocol(self, 5); };
    const SimulationResult first = job.run(app);
    const SimulationResult second = job.run(app);
    REQUIRE(text_of(first) == "");
    CHECK(first.digest == second.digest);
    CHECK(first.events == second.events);
    CHECK(first.virtual_ns == second.virtual_ns);
    digests.push_back(first.digest);
  }
  std::sort(digests.begin(), digests.end());
  CHECK(std::unique(digests.begin(), digests.end()) == digests.end());
}

}  // namespace sim_protocol_test
