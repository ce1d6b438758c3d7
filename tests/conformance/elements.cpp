// Reductions and scans of elements that are not a word: aligned to 16 bytes, which short data in a contribution is not,
// and as long as they may be, also in a team whose arena has no room for them.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/team/node_area.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

/// x -> scale * x + shift in each lane, modulo 2^32. Composition does not commute.
template <std::size_t kLanes, std::size_t kAlignment>
struct alignas(kAlignment) Lanes {
  struct Affine {
    std::uint32_t scale;
    std::uint32_t shift;
    bool operator==(const Affine&) const = default;
  };
  Affine lanes[kLanes];

  static Lanes of(std::uint32_t member, std::size_t place) {
    Lanes made;
    std::uint64_t seed = member * 7919 + place * 31 + 1;
    for (Affine& lane : made.lanes) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      lane = {static_cast<std::uint32_t>(seed >> 32) | 1, static_cast<std::uint32_t>(seed)};
    }
    return made;
  }
  bool operator==(const Lanes&) const = default;
};

struct Compose {
  template <class Element>
  Element operator()(const Element& left, const Element& right) const {
    // What is not aligned as it must be is found here, too, where the compiler makes nothing of it.
    CORACLE_ASSERT(reinterpret_cast<std::uintptr_t>(&left) % alignof(Element) == 0 &&
                       reinterpret_cast<std::uintptr_t>(&right) % alignof(Element) == 0,
                   "elements that are not aligned to {} bytes", alignof(Element));
    Element both;
    for (std::size_t i = 0; i < std::size(both.lanes); ++i)
      both.lanes[i] = {right.lanes[i].scale * left.lanes[i].scale,
                       right.lanes[i].scale * left.lanes[i].shift + right.lanes[i].shift};
    return both;
  }
};

template <class Element>
std::vector<Element> given_by(std::uint32_t member, std::size_t count) {
  std::vector<Element> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = Element::of(member, i);
  return all;
}

/// Of the members before `end`, at `first` and the places behind it.
template <class Element>
std::vector<Element> combined(std::uint32_t end, std::size_t first, std::size_t count) {
  std::vector<Element> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = Element::of(0, first + i);
    for (std::uint32_t member = 1; member < end; ++member) all[i] = Compose()(all[i], Element::of(member, first + i));
  }
  return all;
}

template <class Element>
Task<> reductions(Rank& self, Team& team, std::size_t count) {
  const std::uint32_t root = static_cast<std::uint32_t>(count) % team.size();
  std::vector<Element> values = given_by<Element>(team.index(), count);
  co_await team.reduce(std::span(values), Compose(), root);
  if (team.index() == root) CHECK_HERE(values == combined<Element>(team.size(), 0, count));
  values = given_by<Element>(team.index(), count);
  co_await team.all_reduce(std::span(values), Compose());
  CHECK_HERE(values == combined<Element>(team.size(), 0, count));
  values = given_by<Element>(team.index(), count);
  co_await team.scan(std::span(values), Compose());
  CHECK_HERE(values == combined<Element>(team.index() + 1, 0, count));
  const Element first = Element::of(1000, 0);
  values = given_by<Element>(team.index(), count);
  co_await team.exclusive_scan(std::span(values), Compose(), first);
  std::vector<Element> expected(count, first);
  if (team.index() > 0) {
    const std::vector<Element> before = combined<Element>(team.index(), 0, count);
    for (std::size_t i = 0; i < count; ++i) expected[i] = Compose()(first, before[i]);
  }
  CHECK_HERE(values == expected);
}

/// `counts`: of each member's block.
template <class Element>
Task<> scattered(Rank& self, Team& team, std::vector<std::size_t> counts) {
  std::size_t total = 0;
  std::size_t first = 0;
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    if (member < team.index()) first += counts[member];
    total += counts[member];
  }
  const std::vector<Element> values = given_by<Element>(team.index(), total);
  std::vector<Element> mine(counts[team.index()]);
  co_await team.reduce_scatter_v(values, counts, std::span(mine), Compose());
  CHECK_HERE(mine == combined<Element>(team.size(), first, mine.size()));
}

template <class Element>
Task<> of_all_counts(Rank& self, Team& team, std::vector<std::size_t> counts) {
  for (const std::size_t count : counts) {
    co_await reductions<Element>(self, team, count);
    std::vector<std::size_t> blocks(team.size(), count);
    co_await scattered<Element>(self, team, blocks);
    // One member gets all; and all but one get something, some less than others.
    std::fill(blocks.begin(), blocks.end(), 0);
    blocks[count % team.size()] = count;
    co_await scattered<Element>(self, team, blocks);
    for (std::uint32_t member = 0; member < team.size(); ++member)
      blocks[member] = member == count % team.size() ? 0 : 1 + member % 3 * count;
    co_await scattered<Element>(self, team, blocks);
  }
}

/// Takes all of the segment but for what the smallest team needs, twice.
std::vector<Slab<std::byte>> fill_segment(Rank& self) {
  std::vector<Slab<std::byte>> taken;
  const Slab<std::byte> spare = self.allocate<std::byte>(128 * 1024);
  for (std::size_t bytes = 16 << 20; bytes >= 16 * 1024;) {
    try {
      taken.push_back(self.allocate<std::byte>(bytes));
    } catch (const Error& error) {
      if (error.code() != Errc::segment_full) throw;
      bytes /= 2;
    }
  }
  return taken;
}

}  // namespace

Task<> elements(Rank& self) {
  using Aligned = Lanes<2, 16>;
  using Odd = Lanes<3, 8>;
  using Longest = Lanes<kReducedBytesMax / 8, 16>;
  Team& world = self.world();
  const std::vector<std::size_t> counts = {1, 2, 3, 300, 9'000};
  const std::vector<std::size_t> few = {1, 5, 40};
  co_await of_all_counts<Aligned>(self, world, counts);
  co_await of_all_counts<Odd>(self, world, counts);
  co_await of_all_counts<Longest>(self, world, few);
  // Filling a large one would take the machine's memory.
  if (self.core().region().shape().segment_bytes > 64 << 20) co_return;
  std::vector<Slab<std::byte>> taken = fill_segment(self);
  const auto part = co_await world.split(0, self.size() - self.id());
  taken.clear();
  CHECK_HERE(part->node_area().room_bytes_max() < kReducedBytesMax);
  co_await of_all_counts<Aligned>(self, *part, counts);
  co_await of_all_counts<Longest>(self, *part, few);
}

}  // namespace coracle::internals::conformance
