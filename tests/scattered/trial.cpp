// Random cases are drawn from a seed, so that who is written to knows what to expect.
#include "tests/scattered/trial.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "tests/layout/random_layout.hpp"

namespace coracle::internals::test {
namespace {

constexpr std::int64_t kGuard = 64;
constexpr std::byte kUntouched{0xee};

Described without_overlap(Dice& dice) {
  for (int i = 0; i < 50; ++i) {
    Described drawn = random_layout(dice, 4);
    if (!drawn.map.overlaps()) return drawn;
  }
  return {Layout::bytes(100), plain_bytes(100)};
}

/// `described`, with a run behind it that makes it `bytes` long.
Described filled_up(const Described& described, std::size_t bytes) {
  const std::size_t missing = bytes - described.map.bytes.size();
  if (missing == 0) return described;
  const std::int64_t place = described.map.true_upper_bound() + 5;
  Described longer{
      Layout::structure({{1, 0, described.layout}, {static_cast<std::int64_t>(missing), place, Layout::bytes(1)}}),
      described.map};
  longer.map.append(plain_bytes(static_cast<std::int64_t>(missing)), place);
  return longer;
}

/// One side: repetitions of a layout somewhere in a piece of memory.
struct Side {
  Described what;
  std::uint64_t count = 1;
  Typemap all;
  std::int64_t origin = 0;  // in the memory
  std::size_t memory_bytes = 0;

  void place(Dice& dice) {
    all = what.map.repeated(static_cast<std::int64_t>(count));
    origin = dice.between(0, kGuard) - all.true_lower_bound();
    memory_bytes = static_cast<std::size_t>(origin + all.true_upper_bound() + kGuard);
  }
  std::size_t at(std::size_t position) const { return static_cast<std::size_t>(origin + all.bytes[position]); }
};

struct Case {
  bool is_put;
  std::int64_t form;  // in which it is awaited
  Side local;
  Side remote;
  std::vector<std::byte> source;
  std::vector<std::byte> expected;  // the target's memory

  Case(std::uint64_t seed, std::uint64_t round, std::uint64_t rank) {
    Dice dice(seed * 1'000'003 + round * 1009 + rank);
    is_put = dice.one_in(2);
    form = dice.between(0, 3);
    local.what = is_put ? random_layout(dice, 4) : without_overlap(dice);
    remote.what = is_put ? without_overlap(dice) : random_layout(dice, 4);
    if (dice.one_in(4)) {
      local.what = remote.what = without_overlap(dice);
      local.count = remote.count = static_cast<std::uint64_t>(dice.between(0, 3));
    }
    const std::size_t bytes = std::max(local.what.map.bytes.size(), remote.what.map.bytes.size());
    local.what = filled_up(local.what, bytes);
    remote.what = filled_up(remote.what, bytes);
    local.place(dice);
    remote.place(dice);
    source.resize(from().memory_bytes);
    dice.fill(source);
    expected.assign(to().memory_bytes, kUntouched);
    if (to().all.overlaps()) {  // repetitions may lie over each other where one does not
      local.count = remote.count = 1;
      local.place(dice);
      remote.place(dice);
      source.resize(from().memory_bytes);
      expected.assign(to().memory_bytes, kUntouched);
    }
    for (std::size_t i = 0; i < from().all.bytes.size(); ++i) expected[to().at(i)] = source[from().at(i)];
  }
  const Side& from() const { return is_put ? local : remote; }
  const Side& to() const { return is_put ? remote : local; }
  std::string describe() const {
    return fmt::format("{} in form {}: {} x ({}) to {} x ({})", is_put ? "put" : "get", form, from().count,
                       from().what.layout.describe(), to().count, to().what.layout.describe());
  }
};

Task<> await_in_form(Rank& self, ScatteredTransfer transfer, std::int64_t form) {
  if (form == 0) {
    co_await transfer;
  } else if (form == 1) {
    Handle handle = self.start_nb(std::move(transfer));
    co_await handle.done();
  } else if (form == 2) {
    self.start_nbi(std::move(transfer));
    co_await self.nbi_done();
  } else {
    Started<> started = start(self, std::move(transfer));
    co_await started.done();
  }
}

Task<> perform(Rank& self, const Case& mine, Remote<std::byte> slab, std::byte* memory) {
  const Remote<std::byte> there = slab + mine.remote.origin;
  std::byte* here = memory + mine.local.origin;
  const Layout& local = mine.local.what.layout;
  const Layout& remote = mine.remote.what.layout;
  if (mine.is_put)
    co_await await_in_form(self, self.put({here, local, mine.local.count}, there, remote, mine.remote.count),
                           mine.form);
  else
    co_await await_in_form(self, self.get(there, remote, mine.remote.count, {here, local, mine.local.count}),
                           mine.form);
}

void check(std::span<const std::byte> found, const Case& what, Rank& self, std::uint64_t seed, std::uint64_t round) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::byte expected = i < what.expected.size() ? what.expected[i] : kUntouched;
    if (found[i] == expected) continue;
    throw std::runtime_error(fmt::format("rank {}, seed {}, round {}: byte {} is {:#x} instead of {:#x} after {}",
                                         self.id(), seed, round, i, static_cast<int>(found[i]),
                                         static_cast<int>(expected), what.describe()));
  }
}

double number(std::uint64_t rank, std::uint64_t row, std::uint64_t column) {
  return static_cast<double>(rank * 1'000'000'000 + row * 10'000 + column);
}

void check_numbers(bool right, Rank& self, const char* what) {
  if (!right) throw std::runtime_error(fmt::format("rank {}: a matrix is not as it was put: {}", self.id(), what));
}

}  // namespace

Task<> try_random_transfers(Rank& self, std::uint64_t seed, std::uint32_t rounds) {
  constexpr std::size_t kSlabBytes = 160 * 1024;
  auto slab = self.allocate<std::byte>(kSlabBytes);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t peer = (self.id() + round) % self.size();
    const std::uint32_t other = (self.id() + self.size() - round % self.size()) % self.size();  // whose peer we are
    const Case mine(seed, round, self.id());
    const Case theirs(seed, round, other);
    CORACLE_ASSERT(theirs.remote.memory_bytes <= kSlabBytes, "{} bytes", theirs.remote.memory_bytes);
    std::fill(slab.local().begin(), slab.local().end(), kUntouched);
    if (!theirs.is_put) std::copy(theirs.source.begin(), theirs.source.end(), slab.local().begin());
    std::vector<std::byte> memory(mine.local.memory_bytes, kUntouched);
    if (mine.is_put) memory = mine.source;
    co_await self.world().barrier();
    co_await perform(self, mine, slabs[peer], memory.data());
    if (!mine.is_put) check(memory, mine, self, seed, round);
    co_await self.world().barrier();
    if (theirs.is_put) check(slab.local(), theirs, self, seed, round);
  }
}

Task<> try_strided_transfers(Rank& self, std::uint64_t seed, std::uint32_t rounds) {
  constexpr std::ptrdiff_t kMiddle = 400;
  auto slab = self.allocate<std::uint16_t>(2 * kMiddle);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  Dice dice(seed);  // all ranks do the same
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const bool is_put = dice.one_in(2);
    const std::int64_t block = dice.between(0, 5);
    const std::int64_t sign = dice.one_in(3) ? -1 : 1;
    const Strided shape{static_cast<std::size_t>(dice.between(0, 20)), static_cast<std::size_t>(block),
                        dice.between(-15, 15), sign * dice.between(block, 15)};
    std::vector<std::uint16_t> source(2 * kMiddle);
    std::vector<std::uint16_t> expected(2 * kMiddle, 0xeeee);
    dice.fill(std::as_writable_bytes(std::span(source)));
    for (std::size_t i = 0; i < shape.count; ++i)
      for (std::int64_t j = 0; j < block; ++j)
        expected[static_cast<std::size_t>(kMiddle + shape.target_stride * static_cast<std::int64_t>(i) + j)] =
            source[static_cast<std::size_t>(kMiddle + shape.source_stride * static_cast<std::int64_t>(i) + j)];
    std::vector<std::uint16_t> found(2 * kMiddle, 0xeeee);
    std::copy(is_put ? found.begin() : source.begin(), is_put ? found.end() : source.end(), slab.data());
    co_await self.world().barrier();
    if (is_put)
      co_await self.put_strided(source.data() + kMiddle, slabs[right] + kMiddle, shape);
    else
      co_await self.get_strided(slabs[right] + kMiddle, found.data() + kMiddle, shape);
    co_await self.world().barrier();
    if (is_put) found.assign(slab.local().begin(), slab.local().end());
    if (found == expected) continue;
    throw std::runtime_error(fmt::format("rank {}, seed {}, round {}: {} x {} numbers from {} to {} apart went wrong",
                                         self.id(), seed, round, shape.count, shape.block, shape.source_stride,
                                         shape.target_stride));
  }
}

Task<> try_matrix(Rank& self, std::uint32_t rows, std::uint32_t columns) {
  const std::size_t all = std::size_t{rows} * columns;
  auto slab = self.allocate<double>(2 * all);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  std::vector<double> matrix(all);
  for (std::uint32_t row = 0; row < rows; ++row)
    for (std::uint32_t column = 0; column < columns; ++column)
      matrix[row * columns + column] = number(self.id(), row, column);
  const Layout whole = Layout::of<double>();
  const Layout column = whole.vector(rows, 1, columns).resized(0, sizeof(double));
  co_await self.put({matrix.data(), column, columns}, slabs[right], whole, all);
  co_await self.world().barrier();
  bool good = true;
  for (std::size_t i = 0; i < all; ++i) good = good && slab[i] == number(left, i % rows, i / rows);
  check_numbers(good, self, "transposed");
  std::vector<double> back(all);
  co_await self.get(slabs[right], whole, all, {back.data(), column, columns});
  check_numbers(back == matrix, self, "got back");
  co_await self.world().barrier();

  std::fill(slab.local().begin(), slab.local().end(), -1.0);
  co_await self.world().barrier();
  const auto width = static_cast<std::ptrdiff_t>(columns);
  co_await self.put_strided(matrix.data(), slabs[right] + 3,
                            {.count = rows, .block = columns - 5, .source_stride = width, .target_stride = 2 * width});
  co_await self.world().barrier();
  for (std::size_t i = 0; i < 2 * all; ++i) {
    const std::size_t row = (i - 3) / (2 * columns);
    const std::size_t place = (i - 3) % (2 * columns);
    good = good && slab[i] == (i >= 3 && place < columns - 5 ? number(left, row, place) : -1.0);
  }
  check_numbers(good, self, "a tile");
}

}  // namespace coracle::internals::test
