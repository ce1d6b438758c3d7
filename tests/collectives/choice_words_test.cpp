// Choices as words: what is understood, what is refused and in which words, and that no text does harm.
#include "collectives/choice/tuning.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/mutate.hpp"

namespace choice_words_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

std::string refusal(const std::string& text) {
  try {
    parse_broadcast_choice(text, "CORACLE_BROADCAST");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A variable of the environment, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

TEST_CASE("choice words: every word of a broadcast is understood, in any order, and written as it is read") {
  using enum BroadcastMethod;
  const BroadcastChoice all{competitive, BroadcastTree::ring, 64 * 1024, 4, 3};
  CHECK(parse_broadcast_choice("competitive,ring,chunk=64K,depth=4,fan_out=3", "") == all);
  CHECK(parse_broadcast_choice("fan_out=3,chunk=65536,ring,depth=4,competitive", "") == all);
  CHECK(to_words(all) == "competitive,ring,chunk=64K,depth=4,fan_out=3");
  CHECK(parse_broadcast_choice("", "") == BroadcastChoice{});
  CHECK(parse_broadcast_choice("automatic", "") == BroadcastChoice{});
  CHECK(to_words({}) == "automatic");
  for (const BroadcastMethod method : {automatic, plain, pipelined, competitive}) {
    for (const BroadcastTree tree :
         {BroadcastTree::automatic, BroadcastTree::binomial, BroadcastTree::recursive_doubling, BroadcastTree::ring}) {
      for (const std::size_t chunk : {0UL, 1UL, 1000UL, 1024UL, 3UL << 20, 1UL << 40}) {
        const BroadcastChoice choice{method, tree, chunk, static_cast<std::uint32_t>(chunk % 7), 0};
        CHECK(parse_broadcast_choice(to_words(choice), "") == choice);
      }
    }
  }
}

TEST_CASE("choice words: what can't be meant is refused, with the place and a remedy") {
  CHECK(contains(refusal("competitve"), "CORACLE_BROADCAST: \"competitve\" is none of plain, pipelined, competitive;"));
  CHECK(contains(refusal("ring,binomial"), "\"binomial\" contradicts \"ring\"; keep one of them"));
  CHECK(contains(refusal("plain,competitive"), "\"competitive\" contradicts \"plain\"; keep one of them"));
  CHECK(contains(refusal("chunk=0"), "\"chunk=0\" needs a size from 1 to 1024G, such as chunk=64K"));
  CHECK(contains(refusal("chunk=64k"), "needs a size"));
  CHECK(contains(refusal("chunk=99999999999G"), "needs a size"));
  CHECK(contains(refusal("chunk=-1"), "needs a size"));
  CHECK(contains(refusal("depth=4K"), "\"depth=4K\" needs a number from 1 to 65536, such as depth=4"));
  CHECK(contains(refusal("fan_out="), "needs a number"));
  CHECK(contains(refusal("ring,"), "a word is missing"));
  CHECK(contains(refusal("ring,,plain"), "\"\" is none of"));
}

TEST_CASE("choice words: other collectives take the ways that they have, and no others") {
  CHECK(parse_algorithm("ring", Collective::all_reduce, "") == Algorithm::ring);
  CHECK(parse_algorithm("", Collective::all_reduce, "") == Algorithm::automatic);
  CHECK(parse_algorithm("automatic", Collective::scan, "") == Algorithm::automatic);
  std::string refusal;
  try {
    parse_algorithm("bruck", Collective::all_reduce, "CORACLE_ALL_REDUCE");
  } catch (const Error& error) {
    refusal = error.what();
  }
  CHECK(refusal ==
        "CORACLE_ALL_REDUCE: \"bruck\" is no way of all_reduce; there are automatic, doubling, halving, ring");
}

TEST_CASE("choice words: damaged texts are understood or refused, and never anything else") {
  const test::Seeds seeds("CORACLE_CHOICE_WORDS_SEEDS", 20'000);
  int understood = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    sim::Random random(seed);
    const std::string text =
        test::mutate("competitive,recursive_doubling,chunk=64K,depth=4,fan_out=3", random, ",=KMG0123456789ringplabmo");
    try {
      const BroadcastChoice choice = parse_broadcast_choice(text, "text");
      CHECK(parse_broadcast_choice(to_words(choice), "words") == choice);
      ++understood;
    } catch (const Error& error) {
      CHECK(error.code() == Errc::bad_input);
    }
  }
  CHECK((understood > 0 || !seeds.are_many()));
}

TEST_CASE("tuning: the environment's choices reach the ranks as words of the job") {
  const Variable broadcast("CORACLE_BROADCAST", "pipelined,chunk=4K");
  const Variable all_reduce("CORACLE_ALL_REDUCE", "ring");
  const std::string words = job_words("inside.latency_ns=77", UserChoices::of_environment());
  CHECK(words == "inside.latency_ns=77 broadcast=pipelined,chunk=4K all_reduce=ring");
  Tuning tuning(Costs{}, words);
  CHECK(tuning.model().costs().inside.latency_ns == 77);
  CHECK(tuning.algorithm(Collective::all_reduce, {8, 4}) == Algorithm::ring);
  CHECK(tuning.algorithm(Collective::gather_all, {8, 4}) != Algorithm::automatic);
}

TEST_CASE("tuning: the program's word comes first, then the environment's, then the model's") {
  Tuning tuning(Costs{}, "broadcast=pipelined,ring,chunk=4K");
  const TeamShape shape{5, 4};
  const BroadcastChoice open = tuning.broadcast(shape, 1 << 20);
  CHECK(open.method == BroadcastMethod::pipelined);
  CHECK(open.tree == BroadcastTree::ring);
  CHECK(open.chunk_bytes == 4096);
  CHECK(open.depth > 0);
  CHECK(open.fan_out > 0);
  const BroadcastChoice given{BroadcastMethod::plain, BroadcastTree::automatic, 0, 7, 0};
  const BroadcastChoice both = tuning.broadcast(shape, 1 << 20, given);
  CHECK(both.method == BroadcastMethod::plain);
  CHECK(both.tree == BroadcastTree::ring);
  CHECK(both.depth == 7);
}

TEST_CASE("tuning: what is remembered is what the model says, and alike within a step of sizes") {
  constexpr std::uint64_t kSeed = 21;
  CAPTURE(kSeed);
  sim::Random random(kSeed);
  Tuning tuning(Costs{}, "");
  for (int round = 0; round < 500; ++round) {
    const TeamShape shape{static_cast<std::uint32_t>(1 + random.below(20)),
                          static_cast<std::uint32_t>(1 + random.below(9))};
    const std::size_t bytes = random.below(std::size_t{1} << random.below(24));
    Tuning other(Costs{}, "");
    CHECK(tuning.broadcast(shape, bytes) == other.broadcast(shape, bytes));
  }
  CHECK(tuning.broadcast({4, 2}, 1025) == tuning.broadcast({4, 2}, 1280));
}

TEST_CASE("tuning: of other collectives, too, and however many are asked for") {
  constexpr std::uint64_t kSeed = 22;
  CAPTURE(kSeed);
  sim::Random random(kSeed);
  Tuning tuning(Costs{}, "");
  for (int round = 0; round < 5'000; ++round) {
    const auto collective = static_cast<Collective>(random.below(kCollectives));
    // Ends of steps, of which the model is asked itself.
    const std::size_t bytes = std::size_t{16} << random.below(20);
    const Work work{bytes, static_cast<std::uint32_t>(1 + random.below(40)), random.below(2) == 0};
    const Algorithm algorithm = tuning.algorithm(collective, work);
    CHECK(algorithm == tuning.model().choose(collective, work));
    CHECK(tuning.latest(collective) == algorithm);
  }
  CHECK(tuning.algorithm(Collective::all_reduce, {33'000, 5}) == tuning.algorithm(Collective::all_reduce, {40'960, 5}));
}

TEST_CASE("tuning: words of a job that make no sense are refused") {
  for (const char* words : {"inside.latency=5", "inside.latency_ns=-5", "inside.latency_ns=nan", "inside.readers=0",
                            "latency", "broadcast=fast", "all_reduce=bruck", "scan=ring",
                            "between.bandwidth_bytes_per_ns=0", "inside.latency_ns=5ns"}) {
    CAPTURE(words);
    CHECK_THROWS_AS(Tuning(Costs{}, words), Error);
  }
}

}  // namespace choice_words_test
