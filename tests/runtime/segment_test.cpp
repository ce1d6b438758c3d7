// The segment's allocator against a map of what lives, for many seeds.
#include "runtime/job/segment.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/lone_rank.hpp"

namespace segment_test {

using coracle::internals::SegmentHeap;

TEST_CASE("segment: pieces never overlap, keep their alignment, and all comes back, for 100 seeds") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    constexpr std::uint64_t kFirst = 4096;
    constexpr std::uint64_t kBytes = 1 << 20;
    SegmentHeap heap(kFirst, kBytes);
    std::map<std::uint64_t, std::uint64_t> live;
    for (int step = 0; step < 500; ++step) {
      if (random() % 3 != 0 || live.empty()) {
        const std::uint64_t bytes = random() % 20'000;
        const std::uint64_t alignment = std::uint64_t{64} << random() % 7;
        const std::uint64_t offset = heap.allocate(bytes, alignment);
        if (offset == SegmentHeap::kNone) continue;
        CHECK(offset % alignment == 0);
        CHECK(offset >= kFirst);
        CHECK(offset + bytes <= kFirst + kBytes);
        const auto after = live.lower_bound(offset);
        if (after != live.end()) CHECK(offset + bytes <= after->first);
        if (after != live.begin()) CHECK(std::prev(after)->first + std::prev(after)->second <= offset);
        CHECK(live.emplace(offset, bytes).second);
      } else {
        auto victim = live.begin();
        std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
        heap.release(victim->first);
        live.erase(victim);
      }
    }
    for (const auto& [offset, bytes] : live) heap.release(offset);
    CHECK(heap.used_bytes() == 0);
    CHECK(heap.allocate(kBytes) == kFirst);  // one piece again
  }
}

TEST_CASE("segment: refuses what it has no room for, also sizes near the end of the numbers") {
  SegmentHeap heap(0, 4096);
  CHECK(heap.allocate(4097) == SegmentHeap::kNone);
  CHECK(heap.allocate(~std::uint64_t{0}) == SegmentHeap::kNone);
  CHECK(heap.allocate(0) == 0);
  CHECK(heap.allocate(4096) == SegmentHeap::kNone);
}

TEST_CASE("segment: what a rank allocates is aligned as its type asks") {
  struct alignas(512) Wide {
    std::byte bytes[512];
  };
  coracle::internals::test::LoneRank lone;
  std::vector<coracle::Slab<std::byte>> between;
  for (int i = 0; i < 8; ++i) {
    between.push_back(lone.self.allocate<std::byte>(1));
    const auto wide = lone.self.allocate<Wide>(1);
    CHECK(reinterpret_cast<std::uintptr_t>(wide.data()) % alignof(Wide) == 0);
  }
}

}  // namespace segment_test
