// Eviction against naive models of the same rules, and against the optimum on the traces of docs/storage.md.
#include "storage/eviction/eviction.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "storage/eviction/eviction_kind.hpp"
#include "tests/allocations.hpp"
#include "tests/sanitized.hpp"
#include "tests/storage/eviction_model.hpp"

namespace eviction_test {

using namespace coracle::internals::storage;
using namespace coracle::internals::test;

namespace {

std::unique_ptr<Eviction> naive_model(EvictionKind kind, std::uint32_t capacity) {
  if (kind == EvictionKind::arc) return std::make_unique<NaiveArc>(capacity);
  return std::make_unique<NaiveRecency>(kind == EvictionKind::mru);
}

void check_invariants(const Eviction& eviction, std::uint32_t capacity, std::uint32_t used) {
  const auto* arc = dynamic_cast<const ArcEviction*>(&eviction);
  if (arc == nullptr) return;
  const ArcEviction::Sizes sizes = arc->sizes();
  REQUIRE(sizes.once + sizes.often == used);
  REQUIRE(sizes.once + sizes.ghosts_once <= capacity);
  REQUIRE(sizes.once + sizes.often + sizes.ghosts_once + sizes.ghosts_often <= 2 * capacity);
  REQUIRE(sizes.once_wanted >= 0);
  REQUIRE(sizes.once_wanted <= capacity);
}

/// One cache, kept by two evictions that must agree on everything.
class Twins {
 public:
  Twins(EvictionKind kind, std::uint32_t capacity, std::uint64_t seed)
      : capacity_(capacity),
        eviction_(make_eviction(kind, capacity)),
        model_(naive_model(kind, capacity)),
        pages_(capacity),
        random_(seed) {}

  void step() {
    const std::uint64_t drawn = random_() % 100;
    if (drawn < 80)
      use(page());
    else if (drawn < 90)
      invalidate(static_cast<std::uint32_t>(random_() % capacity_));
    else if (const auto frame = agreed_victim(page()); frame && drawn < 95)
      remove(*frame, true);  // also when the cache is not full
    check_invariants(*eviction_, capacity_, used_);
  }

 private:
  std::uint64_t page() { return random_() % (random_() % 2 == 0 ? capacity_ + 1 : 4 * capacity_); }

  std::optional<std::uint32_t> agreed_victim(std::uint64_t incoming) {
    const std::uint64_t refused = random_() % 3 == 0 ? random_() : 0;
    const auto may_evict = [refused](std::uint32_t frame) { return (refused >> (frame % 64) & 1) == 0; };
    const auto victim = eviction_->victim(incoming, may_evict);
    REQUIRE(victim == model_->victim(incoming, may_evict));
    if (!victim) return victim;
    REQUIRE(may_evict(*victim));
    REQUIRE(pages_[*victim].has_value());
    return victim;
  }

  void remove(std::uint32_t frame, bool evicted) {
    eviction_->remove(frame, evicted);
    model_->remove(frame, evicted);
    pages_[frame].reset();
    --used_;
  }

  void invalidate(std::uint32_t frame) {
    if (pages_[frame]) remove(frame, false);
  }

  void use(std::uint64_t page) {
    std::optional<std::uint32_t> empty;
    for (std::uint32_t frame = 0; frame < capacity_; ++frame) {
      if (pages_[frame] == page) {
        eviction_->hit(frame);
        model_->hit(frame);
        return;
      }
      if (!pages_[frame]) empty = frame;
    }
    if (!empty) {
      empty = agreed_victim(page);
      if (!empty) return;
      remove(*empty, true);
    }
    eviction_->insert(*empty, page);
    model_->insert(*empty, page);
    pages_[*empty] = page;
    ++used_;
  }

  std::uint32_t capacity_;
  std::unique_ptr<Eviction> eviction_;
  std::unique_ptr<Eviction> model_;
  std::vector<std::optional<std::uint64_t>> pages_;
  std::mt19937_64 random_;
  std::uint32_t used_ = 0;
};

}  // namespace

TEST_CASE("eviction: the same decisions as naive models on random traces") {
  const std::uint64_t traces = kSanitized ? 300 : 4000;
  for (std::uint64_t seed = 1; seed <= traces; ++seed) {
    CAPTURE(seed);
    const auto kind = static_cast<EvictionKind>(seed % 3);
    std::mt19937_64 random(seed);
    // From 40 on, the filter for correlated references has a width.
    const auto capacity = static_cast<std::uint32_t>(1 + random() % (seed % 5 == 0 ? 100 : 12));
    Twins twins(kind, capacity, random());
    for (int step = 0; step < 400; ++step) twins.step();
  }
}

TEST_CASE("eviction: nothing to evict in an empty cache or where all are refused") {
  for (const EvictionKind kind : {EvictionKind::lru, EvictionKind::arc, EvictionKind::mru}) {
    const auto eviction = make_eviction(kind, 2);
    CHECK_FALSE(eviction->victim(7, [](std::uint32_t) { return true; }));
    eviction->insert(1, 7);
    CHECK_FALSE(eviction->victim(8, [](std::uint32_t) { return false; }));
    CHECK(eviction->victim(8, [](std::uint32_t) { return true; }) == 1U);
  }
}

TEST_CASE("eviction: a hit allocates nothing") {
  for (const EvictionKind kind : {EvictionKind::lru, EvictionKind::arc, EvictionKind::mru}) {
    const auto eviction = make_eviction(kind, 64);
    for (std::uint32_t frame = 0; frame < 64; ++frame) eviction->insert(frame, frame);
    const std::uint64_t before = coracle::internals::test::allocation_count();
    for (std::uint32_t i = 0; i < 1000; ++i) eviction->hit(i * 7 % 64);
    CHECK(coracle::internals::test::allocation_count() == before);
  }
}

TEST_CASE("eviction: words") {
  for (const EvictionKind kind : {EvictionKind::lru, EvictionKind::arc, EvictionKind::mru})
    CHECK(parse_eviction(to_string(kind)) == kind);
  CHECK_FALSE(parse_eviction("fifo"));
}

// Each of the pages of a scan is touched eight times in a row: without the filter it would count as often used.
TEST_CASE("eviction: arc takes several uses soon after the first for one") {
  ArcEviction arc(100);
  for (std::uint32_t frame = 0; frame < 20; ++frame) {
    arc.insert(frame, frame);
    arc.hit(frame);
    if (frame >= 5) arc.hit(frame - 5);  // 5 insertions ago
  }
  CHECK(arc.sizes().often == 0);
  arc.hit(13);  // 6 insertions ago
  CHECK(arc.sizes().often == 1);
  CHECK(arc.sizes().once == 19);
}

TEST_CASE("eviction: hit rates on the traces of the documentation") {
  SUBCASE("arc is better than lru where some pages are used more than others, and none beats the optimum") {
    const NamedTrace zipf = zipf_trace();
    CHECK(hits(EvictionKind::arc, zipf) > hits(EvictionKind::lru, zipf) + 4);
    CHECK(hits(EvictionKind::arc, zipf) < hits_of_optimum(zipf));
  }
  SUBCASE("a scan with several uses a page fools arc only without the filter") {
    const NamedTrace scan = zipf_and_scan_trace();
    const double filtered = hits(EvictionKind::arc, scan);
    CHECK(filtered > hits(EvictionKind::lru, scan) + 2);
    CHECK(filtered > hits_of_plain_arc(scan) + 1);
    CHECK(filtered < hits_of_optimum(scan));
  }
  SUBCASE("the filter costs nothing elsewhere") {
    for (const NamedTrace& trace : {zipf_trace(), matrix_product_trace(), zigzag_trace()}) {
      CAPTURE(trace.name);
      CHECK(hits(EvictionKind::arc, trace) > hits_of_plain_arc(trace) - 0.5);
    }
  }
  SUBCASE("arc is as good as lru where recency is all") {
    for (const NamedTrace& trace : {matrix_product_trace(), zigzag_trace()}) {
      CAPTURE(trace.name);
      CHECK(hits(EvictionKind::arc, trace) > hits(EvictionKind::lru, trace) - 2);
      CHECK(hits(EvictionKind::lru, trace) <= hits_of_optimum(trace));
    }
  }
  SUBCASE("a loop over twice the cache: never a hit by recency, and the optimum by mru") {
    const NamedTrace loop = loop_trace();
    CHECK(hits(EvictionKind::lru, loop) == 0);
    CHECK(hits(EvictionKind::mru, loop) > 48);
    CHECK(hits(EvictionKind::mru, loop) > hits_of_optimum(loop) - 0.5);
    CHECK(hits(EvictionKind::mru, loop) <= hits_of_optimum(loop));
  }
}

// storage-tests -ns -tc="eviction: the table*"
TEST_CASE("eviction: the table for the documentation" * doctest::skip()) {
  fmt::print("| hits in % | lru | arc without the filter | arc | mru | optimum |\n|---|---|---|---|---|---|\n");
  for (const NamedTrace& trace :
       {zipf_trace(), zipf_and_scan_trace(), matrix_product_trace(), zigzag_trace(), loop_trace()})
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", trace.name, hits(EvictionKind::lru, trace),
               hits_of_plain_arc(trace), hits(EvictionKind::arc, trace), hits(EvictionKind::mru, trace),
               hits_of_optimum(trace));
}

}  // namespace eviction_test
