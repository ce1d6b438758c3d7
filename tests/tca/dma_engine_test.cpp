#include "transports/tca/dma_engine.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/allocations.hpp"
#include "tests/layout/random_layout.hpp"
#include "transports/tca/virtual_device.hpp"

namespace dma_engine_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tca;

namespace {

void finish(VirtualDma& dma, const Waited& waited) {
  while (!waited.over) REQUIRE(dma.step());
}

}  // namespace

TEST_CASE("dma engine: random transfers at once copy all of their bytes and nothing else") {
  const std::uint64_t seed = coracle::internals::test::chosen_seed();
  INFO("CORACLE_TEST_SEED=", seed);
  std::mt19937_64 random(seed);
  constexpr std::size_t kHalf = 1 << 18;
  VirtualDma dma(2 * kHalf);
  std::byte* const source = dma.memory();
  std::byte* const target = source + kHalf;
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < kHalf; ++i) source[i] = static_cast<std::byte>(random());
    std::memset(target, 0xee, kHalf);
    std::vector<std::byte> expected(target, target + kHalf);
    constexpr std::size_t kTransfers = 6;
    std::array<Waited, kTransfers> waited;
    std::vector<Descriptor> all;
    for (std::size_t i = 0; i < kTransfers; ++i) {
      // Each in its own sixth.
      const std::size_t begin = kHalf / 8 * i;
      Descriptor one{source + begin, target + begin, 16 * (1 + random() % 64)};
      if (random() % 2 == 0) {
        one.count = 1 + random() % 12;
        one.source_stride = static_cast<std::int64_t>(one.block_bytes + 16 * (random() % 10));
        one.target_stride = static_cast<std::int64_t>(one.block_bytes + 16 * (random() % 10));
      }
      for (std::uint64_t block = 0; block < one.count; ++block)
        std::memcpy(expected.data() + (one.target_block(block) - target), one.source_block(block), one.block_bytes);
      all.push_back(one);
    }
    for (std::size_t i = 0; i < kTransfers; ++i) dma.engine().copy(all[i], waited[i]);
    for (const Waited& one : waited) finish(dma, one);
    REQUIRE(std::memcmp(target, expected.data(), kHalf) == 0);
    dma.rest();
  }
}

TEST_CASE(
    "dma engine: from the second time on a pattern allocates nothing, and builds nothing but a split it has learned") {
  VirtualDma dma(1 << 20);
  const Descriptor whole{dma.memory(), dma.memory() + (1 << 19), 1 << 16};
  Waited waited;
  const auto transfer = [&] {
    waited.over = false;
    dma.engine().copy(whole, waited);
    finish(dma, waited);
    dma.rest();
  };
  const PatternCache::Counts& counts = dma.engine().cache_counts();
  transfer();
  CHECK(counts.builds == 1);
  const std::uint64_t allocations = coracle::internals::test::allocation_count();
  transfer();
  CHECK(counts.builds == 1);
  for (int run = 2; run < 11; ++run) transfer();
  const std::uint64_t learned = counts.builds;  // in ten runs; as the eleventh began the cheapest width was taken
  CHECK(learned > 1);
  for (int run = 11; run < 20; ++run) transfer();
  CHECK(coracle::internals::test::allocation_count() == allocations);
  CHECK(counts.builds == learned);
  CHECK(counts.hits == 19);
  CHECK(counts.misses == 1);
}

TEST_CASE("dma engine: the cache of patterns is bounded and what is in use stays") {
  DmaOptions options;
  options.patterns_max = 4;
  VirtualDma dma(1 << 16, {}, options);
  std::array<Waited, 8> waited;
  std::byte* const memory = dma.memory();
  for (std::size_t i = 0; i < waited.size(); ++i) {
    std::memset(memory + 1024 * i, static_cast<int>(i + 1), 1024);
    dma.engine().copy({memory + 1024 * i, memory + 32768 + 1024 * i, 1024}, waited[i]);
  }
  for (const Waited& one : waited) finish(dma, one);
  dma.rest();
  for (std::size_t i = 0; i < waited.size(); ++i) CHECK(memory[32768 + 1024 * i + 1023] == std::byte(i + 1));
  Waited more;
  dma.engine().copy({memory, memory + 32768, 512}, more);
  finish(dma, more);
  CHECK(dma.engine().cache_counts().evictions >= 4);
}

TEST_CASE("dma engine: a chain on one channel goes in order behind what went there before") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::byte* const flag = memory + 4096;
  std::memset(memory, 7, 2048);
  std::memset(memory + 2048, 1, 16);
  std::memset(memory + 2064, 2, 16);
  const std::vector<Descriptor> first{{memory, memory + 8192, 2048}, {memory + 2048, flag, 16}};
  const std::vector<Descriptor> second{{memory, memory + 16384, 2048}, {memory + 2064, flag, 16}};
  Waited one;
  Waited two;
  dma.engine().run(first, 2, one);
  dma.engine().run(second, 2, two);
  bool seen_one = false;
  while (!two.over) {
    if (*flag == std::byte{1}) {
      seen_one = true;
      REQUIRE(memory[8192 + 2047] == std::byte{7});
    }
    if (*flag == std::byte{2}) REQUIRE((seen_one && one.over && memory[16384 + 2047] == std::byte{7}));
    REQUIRE(dma.step());
  }
  CHECK(seen_one);
  CHECK(dma.engine().counts().doorbells == 2);
}

TEST_CASE("dma engine: a stalled table is aborted and done again; one that always stalls is told") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::memset(memory, 9, 4096);
  Waited waited;
  dma.device().break_down({2, 0, 0, 0});
  dma.engine().run(std::array{Descriptor{memory, memory + 8192, 4096}}, 0, waited);
  finish(dma, waited);
  CHECK(waited.worked);
  CHECK(memory[8192 + 4095] == std::byte{9});
  CHECK(dma.engine().counts().stalls == 2);
  Waited never;
  dma.device().break_down({100, 0, 0, 0});
  dma.engine().copy({memory, memory + 16384, 4096}, never);
  finish(dma, never);
  CHECK_FALSE(never.worked);
  CHECK(dma.engine().last_failure().find("has not come to the end of its table in 500 ms") != std::string::npos);
}

TEST_CASE("dma engine: of so many tables one hangs, however long they take, and whoever breaks the device down anew") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  DeviceFaults faults;
  faults.tables_per_stall = 5;
  for (int i = 0; i < 16; ++i) {
    dma.device().break_down(faults);
    Waited waited;
    dma.engine().run(std::array{Descriptor{memory, memory + 8192, 4096}}, 0, waited);
    finish(dma, waited);
    CHECK(waited.worked);
    dma.sleep(1'000'000'000);
  }
  CHECK(dma.engine().counts().doorbells == 19);  // with those done again
  CHECK(dma.engine().counts().stalls ==
        3);  // the fifth, the tenth and the fifteenth, of nineteen with those done again
}

TEST_CASE("dma engine: a table that is done again writes nothing anew that had landed before it hung") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::byte* const flag = memory + 4096;
  std::memset(memory, 7, 2048);
  std::memset(memory + 2048, 1, 16);
  const std::vector<Descriptor> chain{{memory, memory + 8192, 2048},
                                      {memory + 2048, flag, 16},
                                      {memory, memory + 16384, 2048},
                                      {memory + 2048, flag + 16, 16}};
  Waited waited;
  dma.device().break_down({1, 0, 0, 0});
  dma.engine().run(chain, 0, waited);
  while (*flag != std::byte{1}) REQUIRE(dma.step());
  CHECK(flag[16] == std::byte{0});
  // Who has seen the flag goes on with the bytes, and with the flag.
  std::memset(memory + 8192, 9, 2048);
  std::memset(flag, 0, 16);
  finish(dma, waited);
  CHECK(waited.worked);
  CHECK(dma.engine().counts().stalls == 1);
  CHECK(memory[8192] == std::byte{9});
  CHECK(memory[8192 + 2047] == std::byte{9});
  CHECK(*flag == std::byte{0});
  CHECK(memory[16384 + 2047] == std::byte{7});
  CHECK(flag[16] == std::byte{1});
  // The next time it begins anew.
  Waited again;
  dma.engine().run(chain, 0, again);
  finish(dma, again);
  CHECK(memory[8192] == std::byte{7});
}

TEST_CASE("dma engine: a table that has ended while nobody looked is not done again") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::memset(memory, 3, 4096);
  Waited waited;
  dma.engine().run(std::array{Descriptor{memory, memory + 8192, 4096}}, 0, waited);
  dma.sleep(10'000'000'000);
  REQUIRE(dma.engine().poll());
  CHECK(waited.over);
  CHECK(waited.worked);
  CHECK(dma.engine().counts().stalls == 0);
  CHECK(dma.engine().counts().doorbells == 1);
}

TEST_CASE("dma engine: a completion word that comes later than the limit does no harm") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::memset(memory, 5, 4096);
  for (int round = 0; round < 3; ++round) {
    Waited waited;
    dma.device().break_down({0, 1, 600'000'000 + static_cast<std::uint64_t>(round) * 400'000'000, 0});
    dma.engine().copy({memory, memory + 8192, 4096}, waited);
    finish(dma, waited);
    CHECK(waited.worked);
    dma.rest();
  }
  CHECK(memory[8192 + 4095] == std::byte{5});
}

TEST_CASE("dma engine: what the chip could not do is refused and says which descriptor") {
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  std::vector<std::byte> ordinary(64);
  Waited waited;
  const auto refusal = [&](const Descriptor& bad) -> std::string {
    try {
      dma.engine().copy(bad, waited);
    } catch (const Error& error) {
      CHECK(error.code() == Errc::bad_input);
      return error.what();
    }
    return "";
  };
  CHECK(refusal({memory + 8, memory + 4096, 64}).find("16 bytes") != std::string::npos);
  CHECK(refusal({memory, memory + 4100, 64}).find("16 bytes") != std::string::npos);
  CHECK(refusal({memory, memory + 4096, 24}).find("16 bytes") != std::string::npos);
  CHECK(refusal({memory, memory + 4096, 32, 4, 40, 48}).find("16 bytes") != std::string::npos);
  CHECK(refusal({memory, memory + 4096, 0}).find("copies nothing") != std::string::npos);
  CHECK(refusal({memory, memory + (1 << 16) - 16, 32}).find("writes memory that is not registered") !=
        std::string::npos);
  CHECK(refusal({memory + (1 << 16) - 16, memory, 32}).find("reads memory that is not registered") !=
        std::string::npos);
  CHECK_THROWS_AS(dma.engine().run({}, 0, waited), Error);
  CHECK_FALSE(dma.engine().busy());
}

TEST_CASE("dma engine: where transfers follow at once a pattern leaves the channels that cost more than they gain") {
  // One after another, the next at the moment when the one before is over: each new table waits until the controllers
  // have stopped, which eats what four channels gain for 8 KiB (the paper's Himeno).
  VirtualDma dma(1 << 16);
  std::byte* const memory = dma.memory();
  const Descriptor whole{memory, memory + (1 << 15), 8192};
  const auto in_a_row = [&](int runs) {
    const std::uint64_t before = dma.now_ns();
    for (int run = 0; run < runs; ++run) {
      Waited waited;
      dma.engine().copy(whole, waited);
      finish(dma, waited);
    }
    return dma.now_ns() - before;
  };
  in_a_row(12);
  const std::uint64_t learned = in_a_row(50);
  DmaOptions options;
  options.channels_max = 1;
  VirtualDma narrow(1 << 16, {}, options);
  const Descriptor same{narrow.memory(), narrow.memory() + (1 << 15), 8192};
  std::uint64_t alone = narrow.now_ns();
  for (int run = 0; run < 50; ++run) {
    Waited waited;
    narrow.engine().copy(same, waited);
    finish(narrow, waited);
  }
  alone = narrow.now_ns() - alone;
  INFO("in a row ", learned, " ns, one channel ", alone);
  CHECK(learned <= alone + alone / 50);
}

}  // namespace dma_engine_test
