// Thousands of random layouts: queries, pack, unpack and copies agree with typemaps written out byte by byte, and no
// byte is touched that does not belong to what was asked for.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime/layout/layout.hpp"
#include "tests/layout/area.hpp"
#include "tests/sanitized.hpp"

namespace coracle::internals::random_test {
namespace {

using test::Area;
using test::Dice;
using test::Typemap;

constexpr int kLevels = 4;
constexpr int kRounds = test::kSanitized ? 1000 : 4000;
constexpr std::int64_t kGuard = Area::kGuard;

bool queries_agree(const Layout& layout, const Typemap& map) {
  const LayoutShape shape = layout.shape();
  return layout.size() == map.bytes.size() && layout.lower_bound() == map.lower_bound() &&
         layout.extent() == map.extent() && layout.true_lower_bound() == map.true_lower_bound() &&
         layout.true_extent() == map.true_upper_bound() - map.true_lower_bound() &&
         layout.block_count() >= map.block_count() && shape.bytes == map.bytes.size() &&
         (shape.lines >= 1 || map.bytes.empty());
}

bool packs_alike(Dice& dice, Area& area) {
  const auto position = static_cast<std::uint64_t>(dice.between(0, static_cast<std::int64_t>(area.bytes())));
  const auto room = static_cast<std::uint64_t>(
      dice.one_in(3) ? dice.between(0, 40) : dice.between(0, static_cast<std::int64_t>(area.bytes()) + 5));
  std::vector<std::byte> packed(room + 2 * kGuard, std::byte{0xee});
  std::vector<std::byte> expected = packed;
  const std::uint64_t bytes = std::min(room, area.bytes() - position);
  for (std::uint64_t i = 0; i < bytes; ++i) expected[kGuard + i] = area.at(position + i);
  return pack(area.source(), position, std::span(packed).subspan(kGuard, room)) == bytes && packed == expected;
}

bool unpacks_alike(Dice& dice, Area& area) {
  const auto position = static_cast<std::uint64_t>(dice.between(0, static_cast<std::int64_t>(area.bytes())));
  std::vector<std::byte> packed(static_cast<std::size_t>(dice.between(0, static_cast<std::int64_t>(area.bytes()) + 5)));
  dice.fill(packed);
  const std::uint64_t bytes = std::min<std::uint64_t>(packed.size(), area.bytes() - position);
  std::vector<std::byte> before = area.memory;
  for (std::uint64_t i = 0; i < bytes; ++i) area.at(position + i) = packed[i];
  std::swap(before, area.memory);  // what is expected, and the memory to be changed
  return unpack(packed, position, area.target()) == bytes && area.memory == before;
}

bool copies_alike(Dice& dice, Area& target, Area& source) {
  const auto both = static_cast<std::int64_t>(std::min(target.bytes(), source.bytes()));
  const auto position = static_cast<std::uint64_t>(dice.between(0, both));
  const auto bytes = static_cast<std::uint64_t>(dice.between(0, both - static_cast<std::int64_t>(position)));
  std::vector<std::byte> before = target.memory;
  for (std::uint64_t i = position; i < position + bytes; ++i) target.at(i) = source.at(i);
  std::swap(before, target.memory);
  copy(target.target(), source.source(), position, bytes);
  return target.memory == before;
}

}  // namespace

TEST_CASE("layouts: thousands of random ones do as their typemaps") {
  const std::uint64_t seed = test::chosen_seed();
  std::printf("random layouts: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Dice dice(seed);
  int with_data = 0;
  int written = 0;
  for (int round = 0; round < kRounds; ++round) {
    Area source(dice, test::random_layout(dice, kLevels), true);
    Area target(dice, test::random_layout(dice, kLevels), false);
    INFO("seed ", seed, " round ", round, ": ", source.what.layout.describe(), " -> ", target.what.layout.describe());
    REQUIRE(queries_agree(source.what.layout, source.what.map));
    const Footprint footprint = source.what.layout.footprint(source.count);
    REQUIRE(footprint.low == source.all.true_lower_bound());
    REQUIRE(footprint.high == source.all.true_upper_bound());
    for (int i = 0; i < 3; ++i) REQUIRE(packs_alike(dice, source));
    with_data += source.bytes() > 0 ? 1 : 0;
    if (target.all.overlaps()) continue;
    for (int i = 0; i < 3; ++i) REQUIRE(unpacks_alike(dice, target));
    for (int i = 0; i < 3; ++i) REQUIRE(copies_alike(dice, target, source));
    written += target.bytes() > 0 && source.bytes() > 0 ? 1 : 0;
  }
  CHECK(with_data > kRounds / 2);
  CHECK(written > kRounds / 8);
}

TEST_CASE("layouts: two sides that copy alternating chunks make the whole") {
  const std::uint64_t seed = test::chosen_seed();
  std::printf("chunks of random layouts: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Dice dice(seed);
  for (int round = 0; round < kRounds / 4; ++round) {
    Area source(dice, test::random_layout(dice, kLevels), true);
    Area target(dice, test::random_layout(dice, kLevels), false);
    if (target.all.overlaps()) continue;
    INFO("seed ", seed, " round ", round, ": ", source.what.layout.describe(), " -> ", target.what.layout.describe());
    const std::uint64_t both = std::min(target.bytes(), source.bytes());
    const auto chunk = static_cast<std::uint64_t>(dice.between(1, 70));
    std::vector<std::byte> expected = target.memory;
    std::swap(expected, target.memory);
    for (std::uint64_t i = 0; i < both; ++i) target.at(i) = source.at(i);
    std::swap(expected, target.memory);
    for (const std::uint64_t parity : {1U, 0U})
      for (std::uint64_t at = parity * chunk; at < both; at += 2 * chunk)
        copy(target.target(), source.source(), at, std::min(chunk, both - at));
    REQUIRE(target.memory == expected);
  }
}

}  // namespace coracle::internals::random_test
