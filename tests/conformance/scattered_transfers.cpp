// Transfers between layouts: random ones, long ones, ranges, exposed memory, and what is refused.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "runtime/job/job.hpp"
#include "tests/conformance/suite.hpp"
#include "tests/layout/random_layout.hpp"
#include "tests/scattered/trial.hpp"

namespace coracle::internals::conformance {
namespace {

Task<> ranges(Rank& self) {
  auto slab = self.allocate<std::uint32_t>(100);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  std::vector<std::uint32_t> numbers(20);
  for (std::uint32_t i = 0; i < 20; ++i) numbers[i] = 100 * self.id() + i;
  const std::vector<std::uint32_t> more{7, 8};
  const std::vector<RemoteRange<std::uint32_t>> there{{slabs[right] + 50, 1}, {slabs[right] + 3, 6}, {slabs[right], 0}};
  const std::vector<std::span<const std::uint32_t>> parts{std::span(numbers).subspan(15, 5), more};
  co_await self.put_ranges(parts, there);
  co_await self.world().barrier();
  for (std::uint32_t i = 0; i < 100; ++i) {
    std::uint32_t expected = i == 50 ? 100 * left + 15 : 0;
    if (i >= 3 && i < 7) expected = 100 * left + 13 + i;
    if (i == 7 || i == 8) expected = i;
    CHECK_HERE(slab[i] == expected);
  }
  std::vector<std::uint32_t> back(8, 1);
  const std::vector<std::span<std::uint32_t>> reversed{std::span(back).subspan(5, 2), std::span(back).subspan(0, 5)};
  co_await self.get_ranges(there, reversed);
  const std::uint32_t first = 100 * self.id() + 15;
  CHECK_HERE((back == std::vector<std::uint32_t>{first + 2, first + 3, first + 4, 7, 8, first, first + 1, 1}));
  // Every second number, from the last one down.
  std::vector<std::uint32_t> down(3);
  co_await self.get_strided(slabs[right] + 7, down.data(),
                            {.count = 3, .block = 1, .source_stride = -2, .target_stride = 1});
  CHECK_HERE((down == std::vector<std::uint32_t>{7, first + 3, first + 1}));
  co_await self.world().barrier();
}

/// A box of a cube to another place in the right neighbour's, thin across each dimension in turn, between segments and
/// in whole 16 bytes: what devices with block-stride move by themselves.
Task<> faces(Rank& self) {
  constexpr std::int64_t kSide = 24;
  constexpr std::int64_t kThickness = 2;
  constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  constexpr auto kNumbers = static_cast<std::size_t>(kSide * kSide * kSide);
  auto mine = self.allocate<std::uint64_t>(kNumbers);
  auto theirs = self.allocate<std::uint64_t>(kNumbers);
  const auto places = co_await self.world().gather_all(theirs.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  for (std::size_t i = 0; i < kNumbers; ++i) mine[i] = self.id() * kNumbers + i;
  const std::vector<std::int64_t> cube(3, kSide);
  for (std::size_t across = 0; across < 3; ++across) {
    std::fill(theirs.local().begin(), theirs.local().end(), kNothing);
    std::vector<std::int64_t> box(3, kSide - 4);
    std::vector<std::int64_t> from(3, 2);
    std::vector<std::int64_t> to(3, 4);
    box[across] = kThickness;
    from[across] = 0;
    to[across] = kSide - kThickness;
    co_await self.world().barrier();
    const Layout here = Layout::of<std::uint64_t>().subarray(cube, box, from);
    const Layout there = Layout::of<std::uint64_t>().subarray(cube, box, to);
    co_await self.put({mine.data(), here}, places[right], there);
    co_await self.world().barrier();
    std::vector<std::uint64_t> expected(kNumbers, kNothing);
    for (std::int64_t i = 0; i < box[0]; ++i)
      for (std::int64_t j = 0; j < box[1]; ++j)
        for (std::int64_t k = 0; k < box[2]; ++k) {
          const auto at = [&](const std::vector<std::int64_t>& begin) {
            return static_cast<std::size_t>(((begin[0] + i) * kSide + begin[1] + j) * kSide + begin[2] + k);
          };
          expected[at(to)] = left * kNumbers + at(from);
        }
    CHECK_HERE(std::equal(expected.begin(), expected.end(), theirs.data()));
    co_await self.world().barrier();
  }
}

Task<> exposed_memory(Rank& self) {
  std::vector<std::uint64_t> outside(300'000, self.id());
  const Exposed<std::uint64_t> exposed = self.expose(std::span(outside));
  const auto places = co_await self.world().gather_all(exposed.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  const Layout every_third = Layout::of<std::uint64_t>().vector(100'000, 1, 3);
  std::vector<std::uint64_t> found(100'000);
  const Layout row = Layout::of<std::uint64_t>();
  co_await self.get(places[right] + 1, every_third, 1, {found.data(), row, found.size()});
  for (const std::uint64_t value : found) CHECK_HERE(value == right);
  co_await self.world().barrier();
  for (std::uint64_t& value : found) value = self.id() + 1000;
  co_await self.put({found.data(), row, found.size()}, places[right] + 1, every_third);
  co_await self.world().barrier();
  bool good = true;
  for (std::size_t i = 0; i < outside.size(); ++i) good = good && outside[i] == (i % 3 == 1 ? left + 1000 : self.id());
  CHECK_HERE(good);
  auto beyond = co_await as_result(self.put({found.data(), row, found.size()}, places[right] + 3, every_third));
  CHECK_HERE(beyond.code() == Errc::out_of_segment);
  beyond = co_await as_result(self.get(places[right] + 3, every_third, 1, {found.data(), row, found.size()}));
  CHECK_HERE(beyond.code() == Errc::out_of_segment);
  co_await self.world().barrier();
  for (std::size_t i = 0; i < outside.size(); ++i) good = good && outside[i] == (i % 3 == 1 ? left + 1000 : self.id());
  CHECK_HERE(good);
}

Task<> refused(Rank& self) {
  auto slab = self.allocate<std::uint64_t>(4);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint64_t values[4] = {1, 2, 3, 4};
  const Layout row = Layout::of<std::uint64_t>();
  const auto segment = static_cast<std::int64_t>(self.core().region().shape().segment_bytes);
  const Layout reaches_out = row.hindexed_block(1, {0, segment});
  const Layout begins_before = row.hindexed_block(1, {-segment, 0});
  const Layout far_apart = row.hindexed_block(1, {0, INT64_MAX / 2});
  for (const Layout* layout : {&reaches_out, &begins_before, &far_apart}) {
    auto result = co_await as_result(self.put({values, row, 2}, slabs[right], *layout));
    CHECK_HERE(result.code() == Errc::out_of_segment);
    self.start_nbi(self.put({values, row, 2}, slabs[right], *layout));
    result = co_await as_result(self.nbi_done());
    CHECK_HERE(result.code() == Errc::out_of_segment);
  }
  auto strided = co_await as_result(self.put_strided(
      values, slabs[right], {.count = 2, .block = 1, .source_stride = 1, .target_stride = segment / 8}));
  CHECK_HERE(strided.code() == Errc::out_of_segment);
  strided = co_await as_result(self.put_strided(
      values, slabs[right], {.count = 2, .block = 1, .source_stride = 1, .target_stride = -segment / 8}));
  CHECK_HERE(strided.code() == Errc::out_of_segment);
  const Remote<std::uint64_t> nobody(RemoteAddress{0, self.size(), 0});
  const Remote<std::uint64_t> concealed(RemoteAddress{0, right, 77});
  const Layout pair = row.vector(2, 1, 2);
  auto result = co_await as_result(self.put({values, row, 2}, nobody, pair));
  CHECK_HERE(result.code() == Errc::no_such_peer);
  std::uint64_t got[2] = {5, 6};
  result = co_await as_result(self.get(concealed, pair, 1, {got, row, 2}));
  CHECK_HERE(result.code() == Errc::out_of_segment);
  CHECK_HERE(got[0] == 5);
  // Without bytes, a place must exist all the same.
  co_await self.put({values, row, 0}, slabs[right], pair, 0);
  co_await self.get(slabs[right], Layout(), 5, {got, pair, 0});
  result = co_await as_result(self.put({values, row, 0}, concealed, pair, 0));
  CHECK_HERE(result.code() == Errc::out_of_segment);
  // The last bytes of the segment, from an origin outside of it.
  const Remote<std::uint64_t> end(RemoteAddress{static_cast<std::uint64_t>(segment) + 8, right, 0});
  const Layout back = row.hindexed_block(1, {-16});
  co_await self.get(end, back, 1, {got, row, 1});
  // Of long blocks, too, none is written when one of them has no place.
  auto large = self.allocate<std::uint64_t>(5000);
  const auto larges = co_await self.world().gather_all(large.remote());
  const std::vector<std::uint64_t> ones(10'000, 1);
  const Layout two_blocks = row.contiguous(5000).hindexed_block(1, {0, segment});
  result = co_await as_result(self.put({ones.data(), row, ones.size()}, larges[right], two_blocks));
  CHECK_HERE(result.code() == Errc::out_of_segment);
  co_await self.world().barrier();
  for (const std::uint64_t number : large.local()) CHECK_HERE(number == 0);
  for (int i = 0; i < 4; ++i) CHECK_HERE(slab[static_cast<std::size_t>(i)] == 0);
}

}  // namespace

Task<> scattered_transfers(Rank& self) {
  const auto seeds = co_await self.world().gather_all(test::chosen_seed());
  const std::uint64_t seed = seeds[0];
  if (self.id() == 0)
    std::printf("scattered transfers: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  // Every round waits for several answers.
  const std::uint32_t rounds = is_brief() ? 12 : self.size() > 4 ? 40 : 300;
  co_await test::try_random_transfers(self, seed, rounds);
  co_await test::try_strided_transfers(self, seed, rounds);
  co_await test::try_matrix(self, 41, 37);
  if (self.size() <= 5) {
    co_await test::try_matrix(self, 700, 300);
    co_await test::try_matrix(self, 20, 6000);
    co_await exposed_memory(self);
  }
  co_await ranges(self);
  co_await faces(self);
  co_await refused(self);
}

}  // namespace coracle::internals::conformance
