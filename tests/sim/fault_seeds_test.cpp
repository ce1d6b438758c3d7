// Network faults for thousands of seeds: jobs of random shape in which messages of all kinds, puts with signals, gets,
// atomics, calls and collectives go on at once, while ranks and nodes die or stop and connections are cut, delayed and
// reset. CORACLE_FAULT_SEEDS=FIRST:COUNT chooses the seeds; a failure says which one repeats it.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"
#include "transports/tca/tca_transport.hpp"

namespace fault_seeds_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr std::uint32_t kRanksMax = 8;
constexpr std::size_t kWords = 64;
template <class T>
using PerPair = std::array<std::array<T, kRanksMax>, kRanksMax>;

/// What the test knows of a run; it outlives the ranks. [from][to] throughout.
struct Ledger {
  PerPair<std::uint64_t> sent{};      // messages whose request was started,
  PerPair<std::uint64_t> accepted{};  // of which so many were reported as sent,
  PerPair<std::uint64_t> received{};  // and so many delivered
  PerPair<std::uint64_t> asked{};     // questions; their answers come from `to`
  PerPair<std::uint64_t> answers{};
  PerPair<std::uint64_t> puts{};
  PerPair<std::uint64_t> puts_done{};
  PerPair<std::uint64_t> calls{};
  PerPair<std::uint64_t> calls_done{};
  PerPair<std::uint64_t> calls_run{};
  std::array<std::uint64_t*, kRanksMax> words{};     // by owner: kWords for each peer
  std::array<Signal*, kRanksMax> signals{};          // by owner: one for each peer
  std::array<std::uint64_t*, kRanksMax> counters{};  // rank 0's is used
  std::uint64_t additions = 0;
  std::set<std::uint64_t> tickets;  // of additions that succeeded
  std::uint64_t collectives_failed = 0;
  std::uint64_t stalls = 0;        // tables of devices that were aborted, at ranks that came to their end
  bool signals_are_taken = false;  // by their owner, after the put has succeeded
  std::uint64_t longest_ns = 0;
  std::string fault;

  void note(bool good, std::string_view what) {
    if (!good && fault.empty()) fault = what;
  }
};

/// The ledger as a rank's handlers find it.
struct Book {
  explicit Book(Rank&) {}
  Ledger* ledger = nullptr;
};
Ledger& ledger_of(Rank& rank) {
  return *rank.local<Book>().ledger;
}

std::byte byte_of(std::uint64_t source, std::uint64_t number, std::size_t place) {
  return static_cast<std::byte>((source * 89 + number * 31 + place + place / 251) & 0xff);
}

void on_message(Rank& rank, const Message& message) {
  Ledger& ledger = ledger_of(rank);
  const std::uint64_t number = message.argument(0);
  std::uint64_t& received = ledger.received[message.source()][rank.id()];
  ledger.note(number == received + 1, "a message is missing, doubled, or out of order");
  received = number;
  ledger.note(message.payload().size() == message.argument(1), "a message has another length");
  for (std::size_t i = 0; i < message.payload().size(); ++i)
    ledger.note(message.payload()[i] == byte_of(message.source(), number, i), "a message has other bytes");
}
void on_answer(Rank& rank, const Message& message) {
  std::uint64_t& answers = ledger_of(rank).answers[message.source()][rank.id()];
  ledger_of(rank).note(message.argument(0) == answers + 1, "an answer is missing, doubled, or out of order");
  answers = message.argument(0);
}
void on_question(Rank& rank, const Message& message) {
  static_cast<void>(rank);
  message.reply(on_answer, message.payload(), {message.argument(0)});
}
std::uint64_t called(Rank& rank, std::uint64_t caller, std::uint64_t number) {
  std::uint64_t& run = ledger_of(rank).calls_run[caller][rank.id()];
  ledger_of(rank).note(number > run, "a call ran twice");
  run = number;
  return number * 3;
}
Task<std::uint64_t> called_later(Rank& rank, std::uint64_t caller, std::uint64_t number) {
  co_await sleep_for(std::chrono::microseconds(1 + number % 5));
  co_return called(rank, caller, number);
}

/// Awaits an operation with `peer`. False when it failed because the peer is lost, which must show in every way.
template <class A>
Task<bool> succeeds(Rank& self, std::uint32_t peer, A operation) {
  Ledger& ledger = ledger_of(self);
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  const bool lost_before = self.lost(peer);
  std::string failure;
  try {
    co_await operation;
  } catch (const Error& error) {
    failure = error.what();
    ledger.note(error.code() == Errc::peer_lost, failure);
  }
  const std::uint64_t took_ns = self.loop().exact_now_ns() - begin_ns;
  if (lost_before) ledger.note(!failure.empty() && took_ns == 0, "an operation with a lost peer does not fail at once");
  if (!failure.empty()) {
    ledger.note(self.lost(peer), "an operation failed, but its peer is not lost");
    const std::string name = " with rank " + std::to_string(peer) + " ";
    ledger.note(failure.find(name) != std::string::npos, "an error does not name the peer: " + failure);
  }
  const bool good = failure.empty();
  co_return good;
}

/// For one-sided operations, which depend on nothing but the network and the peer.
template <class A>
Task<bool> succeeds_in_time(Rank& self, std::uint32_t peer, A operation) {
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  const bool good = co_await succeeds(self, peer, std::move(operation));
  ledger_of(self).longest_ns = std::max(ledger_of(self).longest_ns, self.loop().exact_now_ns() - begin_ns);
  co_return good;
}

Task<> send_one(Rank& self, std::uint32_t peer, std::size_t bytes) {
  Ledger& ledger = ledger_of(self);
  const std::uint64_t number = ++ledger.sent[self.id()][peer];
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = byte_of(self.id(), number, i);
  const bool sent = co_await succeeds(self, peer, self.request(peer, on_message, payload, number, bytes));
  ledger.accepted[self.id()][peer] += sent ? 1 : 0;
  std::fill(payload.begin(), payload.end(), std::byte{0xee});  // ours again, also after a failure
}

Task<> send_messages(Rank& self, std::uint64_t seed) {
  Random random(seed);
  const std::size_t eager = self.core().transport().traits().eager_bytes_max;
  const std::size_t sizes[] = {0, 8, 100, eager, eager + 1, 3 * eager};
  for (int i = 0; i < 10; ++i) {
    const auto peer = static_cast<std::uint32_t>(random.below(self.size()));
    std::vector<Task<>> burst;
    for (std::uint64_t left = 1 + random.below(6); left > 0; --left)
      burst.push_back(send_one(self, peer, sizes[random.below(std::size(sizes))]));
    co_await when_all(std::move(burst));
    co_await sleep_for(std::chrono::nanoseconds(random.below(30'000)));
  }
}

Task<> ask_one(Rank& self, std::uint32_t peer, std::span<const std::byte> payload) {
  const std::uint64_t number = ++ledger_of(self).asked[peer][self.id()];
  static_cast<void>(co_await succeeds(self, peer, self.request(peer, on_question, payload, number)));
}

/// In bursts, so that answers wait for room.
Task<> ask_questions(Rank& self, std::uint64_t seed) {
  Random random(seed);
  const std::vector<std::byte> payload(self.core().transport().reply_bytes_max());
  for (int i = 0; i < 5; ++i) {
    std::vector<Task<>> burst;
    for (std::uint64_t left = 1 + random.below(8); left > 0; --left) {
      const auto peer = static_cast<std::uint32_t>(random.below(self.size()));
      const std::size_t bytes = random.below(2) == 0 ? payload.size() : 0;
      burst.push_back(ask_one(self, peer, std::span(payload).first(bytes)));
    }
    co_await when_all(std::move(burst));
  }
}

struct Places {
  Remote<std::uint64_t> words;
  Remote<Signal> signals;
  Remote<std::uint64_t> counter;
};
using AllPlaces = std::array<Places, kRanksMax>;

/// Each put writes its number everywhere; each is awaited before the next.
Task<> put_and_get(Rank& self, std::uint32_t peer, const AllPlaces& places) {
  Ledger& ledger = ledger_of(self);
  const auto mine = static_cast<std::ptrdiff_t>(self.id());
  const auto target = places[peer].words + mine * static_cast<std::ptrdiff_t>(kWords);
  // From and to memory that devices reach, and that they don't.
  std::vector<std::uint64_t> ordinary(kWords);
  const auto slab = self.allocate<std::uint64_t>(kWords);
  const std::span<std::uint64_t> words = (self.id() + peer) % 2 == 0 ? std::span(ordinary) : slab.local();
  for (std::uint64_t number = 1; number <= 8; ++number) {
    std::fill(words.begin(), words.end(), number);
    ledger.puts[self.id()][peer] = number;
    const std::span<const std::uint64_t> source(words);
    const bool put =
        co_await succeeds_in_time(self, peer, self.put_signal(source, target, places[peer].signals + mine));
    if (put) ledger.puts_done[self.id()][peer] = number;
    std::fill(words.begin(), words.end(), 0);
    const bool got = co_await succeeds_in_time(self, peer, self.get(target, words));
    for (const std::uint64_t word : words)
      ledger.note(!got || word == number, "a get brought something else than was put");
  }
}

Task<> add_tickets(Rank& self, const AllPlaces& places) {
  Ledger& ledger = ledger_of(self);
  for (int i = 0; i < 8; ++i) {
    ++ledger.additions;
    try {
      const std::uint64_t old = co_await self.fetch_add(places[0].counter, 1);
      ledger.note(ledger.tickets.insert(old).second, "an atomic was done twice, or two gave the same");
    } catch (const Error& error) {
      ledger.note(error.code() == Errc::peer_lost && self.lost(0), error.what());
    }
    co_await sleep_for(std::chrono::microseconds(3));
  }
}

Task<> call_one(Rank& self, std::uint32_t peer, std::uint64_t number) {
  Ledger& ledger = ledger_of(self);
  const std::uint64_t caller = self.id();
  std::uint64_t result = 0;
  const auto call = [](Rank& rank, std::uint32_t to, std::uint64_t from, std::uint64_t count,
                       std::uint64_t& value) -> Task<> {
    if (count % 2 == 0)
      value = co_await rank.call(to, called, from, count);
    else
      value = co_await rank.call(to, called_later, from, count);
  };
  const bool done = co_await succeeds(self, peer, call(self, peer, caller, number, result));
  ledger.note(!done || result == number * 3, "a call gave another result");
  if (done) ++ledger.calls_done[caller][peer];
}

Task<> call_peers(Rank& self, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 12; ++i) {
    const auto peer = static_cast<std::uint32_t>(random.below(self.size()));
    co_await call_one(self, peer, ++ledger_of(self).calls[self.id()][peer]);
  }
}

std::uint64_t add(std::uint64_t left, std::uint64_t right) {
  return left + right;
}

Task<> one_round(Team& team, std::uint64_t round) {
  Ledger& ledger = ledger_of(team.rank());
  co_await team.barrier();
  const std::uint64_t sum = co_await team.all_reduce(std::uint64_t{team.member(team.index())} + round, add);
  std::uint64_t expected = round * team.size();
  for (std::uint32_t index = 0; index < team.size(); ++index) expected += team.member(index);
  ledger.note(sum == expected, "all_reduce gave something else");
  std::vector<std::uint64_t> large(2000);  // travels by an offer
  const auto root = static_cast<std::uint32_t>(round % team.size());
  if (team.index() == root) std::fill(large.begin(), large.end(), round);
  co_await team.broadcast(large, root);
  ledger.note(std::count(large.begin(), large.end(), round) == 2000, "broadcast brought something else");
  const auto all = co_await team.gather_all(team.index() * 7 + round);
  for (std::uint32_t index = 0; index < team.size(); ++index)
    ledger.note(all[index] == index * 7 + round, "gather_all brought something else");
}

Task<> act_together(Rank& self) {
  Ledger& ledger = ledger_of(self);
  std::unique_ptr<Team> part;
  try {
    for (std::uint64_t round = 1; round <= 3; ++round) co_await one_round(self.world(), round);
    part = co_await self.world().split(self.id() % 2, self.id());
    for (std::uint64_t round = 1; round <= 3; ++round) co_await one_round(*part, round);
  } catch (const Error& error) {
    ledger.note(error.code() == Errc::peer_lost, error.what());
    ++ledger.collectives_failed;
    const Team& team = part ? *part : self.world();
    ledger.note(team.broken(), "a collective failed, but its team is whole");
  }
}

/// Tables hang, completion words come late and credits get lost, while it lasts.
Task<> break_device(tca::RemoteDmaDevice& device, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 100; ++i) {
    co_await sleep_for(std::chrono::nanoseconds(random.below(30'000)));
    tca::DeviceFaults faults;
    faults.stalls = random.below(64) == 0 ? 1 : 0;
    faults.late_words = random.below(4) == 0 ? 2 : 0;
    faults.late_ns = random.below(100'000);
    faults.lost_stores = random.below(4) == 0 ? static_cast<unsigned>(random.below(4)) : 0;
    device.break_down(faults);
  }
}

/// All at once; nobody has to ask where a peer's memory is, since all allocate alike.
Task<> live_through(Rank& self, Ledger& ledger, std::uint64_t seed, bool devices_fail) {
  Random random(seed * 977 + self.id());
  if (devices_fail) {
    auto& transport = dynamic_cast<tca::TcaTransport&>(self.core().transport());
    self.service().spawn(break_device(transport.device(), random.next()));
  }
  self.local<Book>().ledger = &ledger;
  auto words = self.allocate<std::uint64_t>(kWords * kRanksMax);
  auto signals = self.allocate_signals(kRanksMax);
  auto counter = self.allocate<std::uint64_t>(1);
  ledger.words[self.id()] = words.local().data();
  ledger.signals[self.id()] = signals.local().data();
  ledger.counters[self.id()] = counter.local().data();
  AllPlaces places;
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
    const auto at = [peer](RemoteAddress address) { return RemoteAddress{address.offset, peer, address.segment}; };
    places[peer] = {Remote<std::uint64_t>(at(words.remote().address())), Remote<Signal>(at(signals.remote().address())),
                    Remote<std::uint64_t>(at(counter.remote().address()))};
  }
  co_await sleep_for(std::chrono::microseconds(2));  // all have allocated, and have their books
  std::vector<Task<>> tasks;
  tasks.push_back(send_messages(self, random.next()));
  tasks.push_back(ask_questions(self, random.next()));
  tasks.push_back(add_tickets(self, places));
  tasks.push_back(call_peers(self, random.next()));
  tasks.push_back(act_together(self));
  for (std::uint32_t peer = 0; peer < self.size(); ++peer) tasks.push_back(put_and_get(self, peer, places));
  co_await when_all(std::move(tasks));
  // Messages keep their order: with this call's answer all earlier ones are in, both ways.
  for (std::uint32_t peer = 0; peer < self.size(); ++peer)
    co_await call_one(self, peer, 2 * ++ledger.calls[self.id()][peer]);
  if (auto* devices = dynamic_cast<tca::TcaTransport*>(&self.core().transport()); devices != nullptr)
    ledger.stalls += devices->engine().counts().stalls;
}

constexpr std::uint64_t kHorizonNs = 400'000;

/// Over what the job's messages go, and whether that fails besides.
struct Network {
  RemoteTransport transport = RemoteTransport::automatic;
  bool devices_fail = false;
};

SimJob job_of(std::uint64_t seed, const Network& network) {
  Random random(seed);
  SimJob job;
  job.seed = seed;
  job.size = 2 + static_cast<std::uint32_t>(random.below(kRanksMax - 1));
  job.nodes = 1 + static_cast<std::uint32_t>(random.below(job.size));
  job.segment_bytes = 128 << 10;
  job.silence_limit_ns = 50'000 + random.below(400'000);
  job.model.jitter_ns = std::uint64_t{1} << random.below(15);
  job.model.reorder = random.below(4) != 0;
  job.model.eager_bytes_max = 64 + random.below(1000);
  job.model.inbox_bytes = job.model.eager_bytes_max + kMessageOverheadBytes + random.below(3000);
  job.transport = network.transport;
  job.faults = random_faults(seed, kHorizonNs, job.shape());
  for (Fault& fault : job.faults) fault.at_ns += 1000;  // not before everybody's memory is there
  return job;
}

/// What must hold between two ranks, whatever has happened to them; and more if nothing has.
void check_pair(Ledger& ledger, Simulation& world, std::uint32_t from, std::uint32_t to) {
  const auto out = [&world](std::uint32_t rank) { return world.faults().out_of_play(rank); };
  const bool whole = !out(from) && !out(to) && !world.has_lost(from, to) && !world.has_lost(to, from);
  const std::string pair = " (from rank " + std::to_string(from) + " to " + std::to_string(to) + ")";
  const auto note = [&](bool good, const char* what) { ledger.note(good, what + pair); };
  note(ledger.received[from][to] <= ledger.sent[from][to], "more messages came than were sent");
  note(ledger.answers[from][to] <= ledger.asked[from][to], "more answers came than were asked for");
  note(ledger.calls_done[from][to] <= ledger.calls[from][to], "more calls ended than were made");
  if (ledger.signals[to] != nullptr) {
    const std::uint64_t raised = ledger.signals[to][from].value();
    // Over devices the signal is a packet behind the bytes, which its receiver has to take.
    const bool takes = !out(to) && !world.has_lost(to, from);
    if (!ledger.signals_are_taken || takes)
      note(raised >= ledger.puts_done[from][to], "a signal of a put that succeeded was not raised");
    note(raised <= ledger.puts[from][to], "a signal was raised more often than asked for");
    for (std::size_t i = 0; i < kWords; ++i)
      note(ledger.words[to][from * kWords + i] >= ledger.puts_done[from][to], "a put that succeeded is not there");
  }
  if (!whole) return;
  note(ledger.accepted[from][to] == ledger.sent[from][to], "a message failed though nothing was lost");
  note(ledger.received[from][to] == ledger.sent[from][to], "a message that was accepted did not come");
  note(ledger.answers[from][to] == ledger.asked[from][to], "an answer did not come");
  note(ledger.puts_done[from][to] == 8, "a put failed though nothing was lost");
  note(ledger.calls_done[from][to] == ledger.calls[from][to], "a call failed though nothing was lost");
}

void check(Ledger& ledger, Simulation& world, const SimJob& job, bool devices_fail) {
  bool any_loss = false;
  for (std::uint32_t from = 0; from < job.size; ++from) {
    for (std::uint32_t to = 0; to < job.size; ++to) {
      check_pair(ledger, world, from, to);
      any_loss |= world.has_lost(from, to) || world.faults().out_of_play(from);
    }
  }
  if (ledger.counters[0] != nullptr) {
    ledger.note(*ledger.counters[0] >= ledger.tickets.size(), "an atomic that succeeded was not done");
    ledger.note(*ledger.counters[0] <= ledger.additions, "an atomic was done twice");
  }
  ledger.note(any_loss || ledger.collectives_failed == 0, "a collective failed though nothing was lost");
  const bool devices = job.transport == RemoteTransport::tca;
  // A device has one channel for packets to all peers: who is cut off holds up the others' until it is lost.
  const std::uint64_t silences = devices ? 2 * kRanksMax : 2;
  std::uint64_t bound_ns = silences * job.silence_limit_ns + 1'000'000;
  if (devices_fail) bound_ns += 20'000'000'000;
  for (const Fault& fault : job.faults) {
    bound_ns += (devices ? 64 : 4) * fault.delay_ns;
    if (fault.kind == Fault::Kind::stop && fault.for_ns != Fault::kForEver) bound_ns += fault.for_ns;
  }
  ledger.note(ledger.longest_ns <= bound_ns, "an operation took " + std::to_string(ledger.longest_ns) + " ns");
}

struct Totals {
  std::uint64_t with_losses = 0;
  std::uint64_t messages_lost = 0;
  std::uint64_t collectives_failed = 0;
  std::uint64_t stalls = 0;
  std::uint64_t longest_ns = 0;
};

/// Empty when all held.
std::string run_seed(std::uint64_t seed, const Network& network, Totals& totals) {
  const SimJob job = job_of(seed, network);
  Ledger ledger;
  ledger.signals_are_taken = network.transport == RemoteTransport::tca;
  const SimulationResult outcome =
      job.run([&](Rank& self) { return live_through(self, ledger, seed, network.devices_fail); },
              [&](Simulation& world, const SimulationResult& end) {
                if (end.error) return;
                check(ledger, world, job, network.devices_fail);
                for (std::uint32_t rank = 1; rank < job.size; ++rank)
                  if (world.has_lost(0, rank)) ++totals.with_losses;
              });
  for (std::uint32_t from = 0; from < job.size; ++from)
    for (std::uint32_t to = 0; to < job.size; ++to)
      totals.messages_lost +=
          ledger.accepted[from][to] - std::min(ledger.accepted[from][to], ledger.received[from][to]);
  totals.collectives_failed += ledger.collectives_failed;
  totals.stalls += ledger.stalls;
  totals.longest_ns = std::max(totals.longest_ns, outcome.virtual_ns);
  return outcome.error ? text_of(outcome) : ledger.fault;
}

/// `count`, fewer where each takes longer, or what the environment says.
test::Seeds seeds_to_run(std::uint64_t count) {
  return {"CORACLE_FAULT_SEEDS", test::kSanitized ? count / 4 : count};
}

/// Gives what happened in all of them.
Totals run_seeds(const test::Seeds& seeds, const Network& network) {
  Totals totals;
  int failures = 0;
  for (const std::uint64_t seed : seeds) {
    const std::string failure = run_seed(seed, network, totals);
    if (failure.empty()) continue;
    FAIL_CHECK(failure, "\n", seeds.repeat(seed), "; its faults:\n", to_text(job_of(seed, network).faults));
    if (++failures == 5) break;
  }
  MESSAGE(totals.with_losses, " losses at rank 0, ", totals.messages_lost,
          " accepted messages lost with their receiver, ", totals.collectives_failed, " collectives failed, ",
          totals.stalls, " tables aborted, longest job ", totals.longest_ns, " ns");
  return totals;
}

}  // namespace

TEST_CASE("network faults: no hang, nothing lost in silence, nothing doubled, for 2,000 seeds") {
  const test::Seeds seeds = seeds_to_run(2000);
  const Totals totals = run_seeds(seeds, {});
  if (seeds.size() < 1000) return;
  // The faults have to bite.
  CHECK(totals.with_losses > seeds.size() / 4);
  CHECK(totals.messages_lost > seeds.size() / 4);
  CHECK(totals.collectives_failed > seeds.size() / 2);
}

TEST_CASE("network faults over devices: the same, for 1,000 seeds") {
  const test::Seeds seeds = seeds_to_run(1000);
  const Totals totals = run_seeds(seeds, {RemoteTransport::tca, false});
  if (seeds.size() < 1000) return;
  CHECK(totals.with_losses > seeds.size() / 4);
  CHECK(totals.messages_lost > seeds.size() / 8);
  CHECK(totals.collectives_failed > seeds.size() / 2);
}

TEST_CASE("network faults over devices that hang, come late and lose credits, for 1,000 seeds") {
  const test::Seeds seeds = seeds_to_run(1000);
  const Totals totals = run_seeds(seeds, {RemoteTransport::tca, true});
  if (seeds.size() < 1000) return;
  CHECK(totals.stalls > seeds.size() / 8);
  CHECK(totals.with_losses > seeds.size() / 4);
  CHECK(totals.collectives_failed > seeds.size() / 2);
}

}  // namespace fault_seeds_test
