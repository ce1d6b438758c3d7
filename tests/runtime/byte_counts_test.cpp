// Counts of elements that no memory has: their bytes, modulo 2^64, are few or none, and must not be taken for that.
#include "runtime/core/byte_counts.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <coracle/coracle.hpp>
#include <csignal>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/lone_rank.hpp"
#include "tests/sim/job.hpp"

namespace byte_counts_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

using Word = std::uint64_t;

constexpr std::size_t kNone = std::size_t{1} << 61;  // words; modulo 2^64 they have no bytes,
constexpr std::size_t kOne = kNone + 1;              // and these those of one

/// A span that claims more words than it has.
std::span<Word> claim(std::array<Word, 2>& words, std::size_t count) {
  return {words.data(), count};
}

Task<std::error_code> code_of(Task<> task) {
  const Result<> result = co_await as_result(std::move(task));
  co_return result.code();
}

Task<> nbi(Rank& self, std::span<const Word> source, Remote<Word> place) {
  self.put_nbi(source, place);
  co_await self.nbi_done();
}
Task<> get_nbi(Rank& self, std::span<Word> target, Remote<Word> place) {
  self.get_nbi(place, target);
  co_await self.nbi_done();
}
Task<> handle(Handle started) {
  co_await started.done();
}

/// Of everything that moves words between `mine` and `place`.
Task<std::vector<std::error_code>> codes_of_transfers(Rank& self, std::span<Word> mine, Remote<Word> place,
                                                      Remote<Signal> signal) {
  std::vector<std::error_code> codes;
  codes.push_back(co_await code_of(as_task(self.put(mine, place))));
  codes.push_back(co_await code_of(as_task(self.get(place, mine))));
  codes.push_back(co_await code_of(as_task(self.put_signal(mine, place, signal))));
  codes.push_back(co_await code_of(self.get_signal(place, mine, signal)));
  codes.push_back(co_await code_of(handle(self.put_nb(mine, place))));
  codes.push_back(co_await code_of(handle(self.get_nb(place, mine))));
  codes.push_back(co_await code_of(handle(self.put_signal_nb(mine, place, signal))));
  codes.push_back(co_await code_of(nbi(self, mine, place)));
  codes.push_back(co_await code_of(get_nbi(self, mine, place)));
  co_return codes;
}

}  // namespace

TEST_CASE("byte counts: what needs more than 64 bits is more than anything has") {
  static_assert(byte_count(3, 8) == 24);
  static_assert(byte_count(0, 8) == 0);
  static_assert(byte_count(kNone - 1, 8) == ~std::size_t{0} - 7);
  static_assert(byte_count(kNone, 8) == ~std::size_t{0});
  static_assert(byte_count(kOne, 8) == ~std::size_t{0});
  static_assert(byte_end(3, 4) == 7);
  static_assert(byte_end(~std::uint64_t{0} - 3, 3) == ~std::uint64_t{0});
  static_assert(byte_end(~std::uint64_t{0} - 3, 8) == ~std::uint64_t{0});
  std::array<Word, 2> words{};
  CHECK(byte_span(std::span<const Word>(words)).size() == 16);
  CHECK(writable_byte_span(std::span<Word>(words)).size() == 16);
}

TEST_CASE("byte counts: a place is not moved around the end of the numbers") {
  const Remote<Word> place(RemoteAddress{64, 0, 0});
  constexpr auto kFar = static_cast<std::ptrdiff_t>(kNone);
  CHECK((place + 3).address().offset == 88);
  CHECK((place - 3).address().offset == 40);
  CHECK((place - 9 + 9).address().offset == 64);
  for (const std::ptrdiff_t far : {kFar, -kFar, kFar + 1, -kFar - 1, std::numeric_limits<std::ptrdiff_t>::min()}) {
    CHECK((place + far).address().offset > std::uint64_t{1} << 62);
    CHECK((place - far).address().offset > std::uint64_t{1} << 62);
  }
}

namespace {

Task<> claim_too_much(Rank& self) {
  const Slab<Word> slab = self.allocate<Word>(16);
  const Slab<Signal> signal = self.allocate_signals(1);
  std::array<Word, 2> words{1, 2};
  for (const std::size_t count : {kNone, kOne, ~std::size_t{0}}) {
    CAPTURE(count);
    const std::vector<std::error_code> codes =
        co_await codes_of_transfers(self, claim(words, count), slab.remote(), signal.remote());
    for (const std::error_code code : codes) CHECK(code == Errc::out_of_segment);
    CHECK(self.reach(slab.remote(), count) == nullptr);
    CHECK_THROWS_AS(static_cast<void>(self.expose(claim(words, count))), Error);
    CHECK_THROWS_AS(static_cast<void>(self.allocate<Word>(count)), Error);
    const std::vector<RemoteRange<Word>> there{{slab.remote(), count}};
    const std::vector<std::span<const Word>> here{claim(words, count)};
    CHECK_THROWS_AS(static_cast<void>(self.put_ranges<Word>(here, there)), Error);
  }
  CHECK(slab[0] == 0);
  CHECK(slab[1] == 0);
  CHECK(signal[0].count == 0);
  const Result<> far = co_await as_result(self.put_value(7, slab.remote() + static_cast<std::ptrdiff_t>(kNone)));
  CHECK(far.code() == Errc::out_of_segment);
  CHECK(slab[0] == 0);
  CHECK(self.reach(slab.remote(), 16) == slab.data());
}

}  // namespace

TEST_CASE("byte counts: transfers of more words than memory has are refused, and nothing is moved") {
  test::LoneRank lone;
  lone.loop.run(claim_too_much(lone.self));
}

namespace {

Task<> claim_too_much_of_peer(Rank& self) {
  const Slab<Word> slab = self.allocate<Word>(16);
  const Slab<Signal> signal = self.allocate_signals(1);
  const std::vector<Remote<Word>> places = co_await self.world().gather_all(slab.remote());
  const std::vector<Remote<Signal>> signals = co_await self.world().gather_all(signal.remote());
  const std::uint32_t peer = 1 - self.id();
  std::array<Word, 2> words{1, 2};
  for (const std::size_t count : {kNone, kOne}) {
    const std::vector<std::error_code> codes =
        co_await codes_of_transfers(self, claim(words, count), places[peer], signals[peer]);
    for (const std::error_code code : codes) EXPECT(code == Errc::out_of_segment);
  }
  co_await self.world().barrier();
  EXPECT(slab[0] == 0);
  EXPECT(signal[0].count == 0);
}

}  // namespace

TEST_CASE("byte counts: the same to a peer whose memory is not reached by load and store") {
  for (const std::uint32_t nodes : {1U, 2U}) {
    sim::SimJob job;
    job.nodes = nodes;
    const sim::SimulationResult outcome = job.run(claim_too_much_of_peer);
    CHECK(sim::text_of(outcome) == "");
  }
}

// --- collectives and messages: a mistake that ends the program ---

namespace {

/// What a process says that does this; it must end by an abort.
std::string failure_record_of(const App& app) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    test::LoneRank lone;
    lone.loop.run(app(lone.self));
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string words;
  char buffer[512];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    words.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  return words;
}

Task<> broadcast_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().broadcast(claim(words, kOne), 0);
}
Task<> reduce_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().all_reduce(claim(words, kOne), std::plus<>());
}
Task<> gather_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().gather_all<Word>(claim(words, kOne), claim(words, kOne));
}
Task<> exchange_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().all_to_all<Word>(claim(words, kNone), claim(words, kNone));
}
Task<> send_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().send(claim(words, kNone), 0);
}
Task<> receive_too_much(Rank& self) {
  std::array<Word, 2> words{};
  co_await self.world().recv(claim(words, kNone));
}

}  // namespace

TEST_CASE("byte counts: collectives and messages of more words than memory has end the program in words") {
  for (const App& app : {App(broadcast_too_much), App(reduce_too_much), App(gather_too_much), App(exchange_too_much),
                         App(send_too_much), App(receive_too_much)}) {
    const std::string words = failure_record_of(app);
    CAPTURE(words);
    CHECK(words.find("elements of 8 bytes was given, more than any memory has") != std::string::npos);
  }
}

}  // namespace byte_counts_test
