// Puts between layouts by the devices' block-stride, in virtual time: which ones go so, what they write and what they
// leave alone, and how they end when memory or devices fail.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"
#include "transports/tca/tca_transport.hpp"

namespace tca_strided_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr std::byte kUntouched{0xee};

SimJob job_of(std::uint64_t seed) {
  SimJob job;
  job.size = job.nodes = 2;
  job.seed = seed;
  job.segment_bytes = 8 << 20;
  job.transport = RemoteTransport::tca;
  return job;
}

tca::TcaTransport& tca_of(Rank& rank) {
  return dynamic_cast<tca::TcaTransport&>(rank.core().transport());
}

std::uint64_t strided_puts(Rank& rank) {
  return tca_of(rank).modes().block_stride;
}

/// Bytes of one side of a tile, or of planes of tiles.
struct Side {
  std::int64_t first;
  std::int64_t stride;
  std::int64_t row_stride;

  std::int64_t at(std::int64_t row, std::int64_t column) const { return first + row * row_stride + column * stride; }
};

struct Tile {
  std::int64_t block;
  std::int64_t count;
  std::int64_t rows;
  Side from;
  Side to;

  Layout layout(const Side& side) const {
    return Layout::bytes(block).hvector(count, 1, side.stride).hvector(rows, 1, side.row_stride);
  }
  /// What lies at the target afterwards, where nothing but kUntouched was.
  std::vector<std::byte> expected(const std::byte* source, std::size_t bytes) const {
    std::vector<std::byte> there(bytes, kUntouched);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < count; ++column)
        std::memcpy(&there[static_cast<std::size_t>(to.at(row, column))], source + from.at(row, column),
                    static_cast<std::size_t>(block));
    return there;
  }
};

Task<> put(Rank& self, const Tile& tile, const std::byte* source, Remote<std::byte> target) {
  const Layout here = tile.layout(tile.from);
  const Layout there = tile.layout(tile.to);
  co_await self.put({source + tile.from.first, here}, target + tile.to.first, there);
}

/// Distances that leave gaps, or none, upwards or downwards; all in multiples of `unit`.
Side random_side(std::mt19937_64& random, const Tile& tile, std::int64_t unit) {
  const auto gap = [&] { return random() % 3 == 0 ? 0 : unit * static_cast<std::int64_t>(random() % 20); };
  Side side{unit * static_cast<std::int64_t>(random() % 5), tile.block + gap(), 0};
  side.row_stride = tile.count * side.stride + gap();
  if (random() % 4 == 0) {
    side.first += (tile.count - 1) * side.stride;
    side.stride = -side.stride;
  }
  if (random() % 4 == 0) {
    side.first += (tile.rows - 1) * side.row_stride;
    side.row_stride = -side.row_stride;
  }
  return side;
}

Tile random_tile(std::mt19937_64& random) {
  const std::int64_t unit = random() % 4 == 0 ? 1 + static_cast<std::int64_t>(random() % 30) : 16;
  Tile tile{};
  tile.block = unit * (1 + static_cast<std::int64_t>(random() % 40));
  tile.count = 1 + static_cast<std::int64_t>(random() % 20);
  const bool has_many_rows = random() % 3 == 0;
  tile.rows = 1 + static_cast<std::int64_t>(random() % (has_many_rows ? 30 : 3));
  tile.from = random_side(random, tile, unit);
  tile.to = random_side(random, tile, unit);
  return tile;
}

constexpr std::size_t kRoom = 2 << 20;

/// Both ranks put random tiles into each other's memory, with a signal behind each.
Task<> put_random_tiles(Rank& self, std::uint64_t seed, bool stalls, std::uint64_t& strided) {
  std::mt19937_64 random(seed);  // the same on both ranks
  auto mine = self.allocate<std::byte>(kRoom);
  auto theirs = self.allocate<std::byte>(kRoom);
  auto signals = self.allocate_signals(1);
  const auto places = co_await self.world().gather_all(theirs.remote());
  const auto signal_of = co_await self.world().gather_all(signals.remote());
  const std::uint32_t peer = 1 - self.id();
  for (std::size_t i = 0; i < kRoom; ++i) mine[i] = static_cast<std::byte>(i * 7 + i / 256);
  for (std::uint64_t round = 1; round <= 10; ++round) {
    const Tile tile = random_tile(random);
    std::fill(theirs.local().begin(), theirs.local().end(), kUntouched);
    co_await self.world().barrier();
    if (stalls && random() % 2 == 0) tca_of(self).device().break_down({1, 0, 0, 0});
    co_await put(self, tile, mine.data(), places[peer]);
    co_await self.raise(signal_of[peer]);
    co_await self.wait(signals[0], round);  // both have put the same
    const std::vector<std::byte> expected = tile.expected(mine.data(), kRoom);
    EXPECT(std::equal(expected.begin(), expected.end(), theirs.data()));
    co_await self.world().barrier();
  }
  strided += strided_puts(self);
}

}  // namespace

TEST_CASE("tca: random tiles are where they belong when their signal is seen, and the gaps are untouched") {
  std::uint64_t strided = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed ", seed);
    const SimulationResult outcome =
        job_of(seed).run([&](Rank& self) { return put_random_tiles(self, seed, false, strided); });
    REQUIRE(text_of(outcome) == "");
  }
  CHECK(strided > 300);   // of 1,200
  CHECK(strided < 1100);  // the others are not aligned, or one run
}

TEST_CASE("tca: the same while tables hang") {
  std::uint64_t strided = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed ", seed);
    const SimulationResult outcome =
        job_of(seed).run([&](Rank& self) { return put_random_tiles(self, seed, true, strided); });
    REQUIRE(text_of(outcome) == "");
  }
  CHECK(strided > 150);
}

namespace {

struct Case {
  const char* what;
  Tile tile;
  bool by_block_stride;
};

const Tile kFace{512, 62, 1, {64, 576, 0}, {128, 640, 0}};

const Case kCases[] = {
    {"a face", kFace, true},
    {"from a run", {512, 62, 1, {0, 512, 0}, {128, 640, 0}}, true},
    {"to a run", {512, 62, 1, {64, 576, 0}, {0, 512, 0}}, true},
    {"rows of blocks", {1024, 12, 5, {0, 2048, 32'768}, {0, 1040, 16'384}}, true},
    {"more rows than blocks", {1024, 5, 12, {0, 2048, 16'384}, {0, 1040, 8192}}, true},
    {"few short blocks, since packing takes an answer", {16, 4, 1, {0, 64, 0}, {0, 48, 0}}, true},
    {"many blocks that fill but a 16th of a read request", {16, 2000, 1, {0, 48, 0}, {0, 32, 0}}, false},
    {"one run", {512, 62, 1, {0, 512, 0}, {0, 512, 0}}, false},
    {"source not aligned", {512, 62, 1, {4, 576, 0}, {128, 640, 0}}, false},
    {"target not aligned", {512, 62, 1, {64, 576, 0}, {120, 640, 0}}, false},
    {"blocks not of whole 16 bytes", {508, 62, 1, {64, 576, 0}, {128, 640, 0}}, false},
    {"source's stride not aligned", {512, 62, 1, {64, 572, 0}, {128, 640, 0}}, false},
    {"target's stride not aligned", {512, 62, 1, {64, 576, 0}, {128, 644, 0}}, false},
    {"rows not aligned", {1024, 12, 5, {0, 2048, 32'768}, {0, 1040, 16'392}}, false},
    {"rows of short blocks, each a table", {64, 12, 11, {0, 128, 2048}, {0, 80, 1024}}, false},
};

/// Puts from rank 0 to rank 1. `there` is the target's memory.
Task<> check_case(Rank& self, const Case& of, const std::byte* source, Remote<std::byte> place,
                  std::span<std::byte> there) {
  std::fill(there.begin(), there.end(), kUntouched);
  const std::uint64_t before = strided_puts(self);
  co_await put(self, of.tile, source, place);
  const std::vector<std::byte> expected = of.tile.expected(source, there.size());
  const bool is_there = std::equal(expected.begin(), expected.end(), there.begin());
  const bool was_strided = strided_puts(self) > before;
  if (!is_there || was_strided != of.by_block_stride)
    throw std::runtime_error(std::string(of.what) + (is_there ? " goes the wrong way" : " does not get there"));
}

Task<> choose(Rank& self) {
  auto mine = self.allocate<std::byte>(kRoom);
  auto room = self.allocate<std::byte>(kRoom);
  const auto places = co_await self.world().gather_all(room.remote());
  // In `sim` rank 0 can look at what it has put.
  const auto addresses = co_await self.world().gather_all(reinterpret_cast<std::uint64_t>(room.data()));
  if (self.id() == 0) {
    const std::span there(reinterpret_cast<std::byte*>(addresses[1]), kRoom);
    for (std::size_t i = 0; i < kRoom; ++i) mine[i] = static_cast<std::byte>(i * 5 + i / 256);
    const std::uint64_t doorbells = tca_of(self).engine().counts().doorbells;
    for (const Case& each : kCases) {
      co_await check_case(self, each, mine.data(), places[1], there);
      if (&each == &kCases[0])  // over all channels, the first time
        EXPECT(tca_of(self).engine().counts().doorbells >= doorbells + 4);
    }
    const std::vector<std::byte> ordinary(mine.local().begin(), mine.local().end());
    const Case unregistered{"memory that the device can't read", kFace, false};
    co_await check_case(self, unregistered, ordinary.data(), places[1], there);
  }
  co_await self.world().barrier();
}

/// A tile of which the last block lies beyond the segment's end.
Task<> reach_out(Rank& self) {
  auto slab = self.allocate<std::byte>(64 << 10);
  const auto places = co_await self.world().gather_all(slab.remote());
  std::fill(slab.local().begin(), slab.local().end(), kUntouched);
  co_await self.world().barrier();
  const auto segment = static_cast<std::int64_t>(self.core().region().shape().segment_bytes);
  const Tile tile{512, 2, 1, {0, 1024, 0}, {0, segment, 0}};
  bool is_refused = false;
  try {
    co_await put(self, tile, slab.data(), places[1 - self.id()]);
  } catch (const Error& error) {
    is_refused = error.code() == Errc::out_of_segment;
  }
  EXPECT(is_refused);
  EXPECT(strided_puts(self) == 0);
  co_await self.world().barrier();
  EXPECT(std::count(slab.local().begin(), slab.local().end(), kUntouched) == 64 << 10);
}

/// Rank 1 withdraws its memory while many rows are still to come.
Task<> withdraw(Rank& self) {
  constexpr std::size_t kBytes = 4 << 20;
  auto mine = self.allocate<std::byte>(kBytes);
  std::fill(mine.local().begin(), mine.local().end(), std::byte{1});
  std::vector<std::byte> outside(kBytes, kUntouched);
  std::optional<Exposed<std::byte>> exposed(self.expose(std::span(outside)));
  const auto places = co_await self.world().gather_all(exposed->remote());
  if (self.id() == 0) {
    std::error_code code;
    try {
      const Tile tile{512, 60, 60, {0, 1024, 61'440}, {0, 1024, 65'536}};
      co_await put(self, tile, mine.data(), places[1]);
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT(strided_puts(self) == 1);
    EXPECT(code == Errc::out_of_segment);
  } else {
    co_await sleep_for(std::chrono::microseconds(200));
    exposed.reset();
    co_await sleep_for(std::chrono::milliseconds(1));  // what the device has in hand comes to its end
    EXPECT(outside.front() == std::byte{1});
    EXPECT(outside[59 * 65'536] == kUntouched);
  }
  co_await self.world().barrier();
}

/// Rank 0's device hangs for a while, longer than the engine tries.
Task<> with_a_device_that_hangs(Rank& self) {
  auto slab = self.allocate<std::byte>(128 << 10);
  const auto places = co_await self.world().gather_all(slab.remote());
  if (self.id() == 0) {
    const Tile tile{512, 60, 1, {0, 1024, 0}, {0, 1024, 0}};
    std::fill(slab.local().begin(), slab.local().end(), std::byte{3});
    tca_of(self).device().break_down({1000, 0, 0, 0});
    std::error_code code;
    try {
      co_await put(self, tile, slab.data(), places[1]);
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT(code == std::errc::io_error);
    EXPECT(tca_of(self).in_flight() == 0);
    tca_of(self).device().break_down({});
    co_await put(self, tile, slab.data(), places[1]);
    EXPECT(strided_puts(self) == 2);
  }
  co_await self.world().barrier();
  if (self.id() == 1) EXPECT((slab[59 * 1024] == std::byte{3} && slab[512] == std::byte{0}));
}

}  // namespace

TEST_CASE("tca: aligned blocks between registered memory go by block-stride over all channels, others are packed") {
  CHECK(text_of(job_of(1).run(choose)) == "");
}

TEST_CASE("tca: a tile that reaches out of the segment is refused before any of it is written") {
  CHECK(text_of(job_of(1).run(reach_out)) == "");
}

TEST_CASE("tca: rows of memory that is withdrawn meanwhile are not written, and the put says why") {
  CHECK(text_of(job_of(1).run(withdraw)) == "");
}

TEST_CASE(
    "tca: a strided put of a device that hangs ends with an error, and the next one works when it is well again") {
  CHECK(text_of(job_of(1).run(with_a_device_that_hangs)) == "");
}

}  // namespace tca_strided_test
