// ReadAhead: which reads are taken for a sequence, and which pages are asked for.
#include "storage/pages/read_ahead.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace read_ahead_test {

using coracle::internals::storage::AheadQueue;
using coracle::internals::storage::Frames;
using coracle::internals::storage::read_ahead_pages;
using coracle::internals::storage::ReadAhead;

namespace {

/// Reads pages in order from `at` on; true when all but the first `beginning` had been asked for before.
struct Reader {
  std::uint64_t at;
  std::uint64_t asked_to = 0;
  std::uint64_t surprised = 0;
  std::uint64_t furthest = 0;

  void read(ReadAhead& ahead) {
    if (at >= asked_to) ++surprised;
    const ReadAhead::Pages pages = ahead.reads(at, at);
    ++at;
    if (pages.count == 0) return;
    // What is asked for is new, and without a gap.
    CHECK(pages.first >= at);
    CHECK(pages.first == std::max(asked_to, at));
    asked_to = pages.first + pages.count;
    furthest = std::max(furthest, asked_to - at);
  }
};

}  // namespace

TEST_CASE("reading ahead: a sequence is found at its second page and stays ahead up to the limit") {
  ReadAhead ahead(16);
  Reader reader{100};
  for (int i = 0; i < 200; ++i) reader.read(ahead);
  CHECK(reader.surprised == 2);
  CHECK(reader.furthest == 16);
}

TEST_CASE("reading ahead: parts of a page and several pages at once go on too") {
  ReadAhead ahead(8);
  CHECK(ahead.reads(10, 10).count == 0);
  CHECK(ahead.reads(10, 10).count == 0);  // the rest of the page
  CHECK(ahead.reads(10, 11).count > 0);   // its end and the next
  const ReadAhead::Pages pages = ahead.reads(12, 20);
  CHECK(pages.first == 21);
  CHECK(pages.first + pages.count <= 21 + 8);
}

TEST_CASE("reading ahead: random reads ask for nothing and do not end a sequence") {
  ReadAhead ahead(16);
  std::mt19937_64 random(7);
  Reader reader{1'000'000};
  std::uint64_t asked = 0;
  reader.read(ahead);
  reader.read(ahead);
  for (int i = 0; i < 500; ++i) {
    reader.read(ahead);
    for (int other = 0; other < 20; ++other) {
      const std::uint64_t page = 2 * (random() % 200'000);  // never one after the other
      asked += ahead.reads(page, page).count;
    }
  }
  CHECK(asked == 0);
  CHECK(reader.surprised == 2);
}

TEST_CASE("reading ahead: several sequences are told apart and share the limit") {
  ReadAhead ahead(32);
  std::vector<Reader> readers;
  for (std::uint64_t i = 0; i < 4; ++i) readers.push_back({i * 10'000 + 5});
  std::mt19937_64 random(3);
  for (int i = 0; i < 4000; ++i) readers[random() % 4].read(ahead);
  std::uint64_t together = 0;
  for (Reader& reader : readers) {
    CHECK(reader.surprised <= 3);
    reader.furthest = 0;
  }
  for (std::size_t i = 0; i < 400; ++i) readers[i % 4].read(ahead);
  for (const Reader& reader : readers) together += reader.furthest;
  CHECK(together <= 32);
  CHECK(together >= 16);
  // One that goes on alone gets all of it again.
  for (int i = 0; i < 200; ++i) readers[0].read(ahead);
  CHECK(readers[0].furthest == 32);
}

TEST_CASE("reading ahead: who begins anew where he began before soon has all of the limit to himself") {
  ReadAhead ahead(16);
  for (int round = 0; round < 10; ++round) {
    Reader reader{0};
    for (int i = 0; i < 12; ++i) reader.read(ahead);
    CHECK(reader.furthest == 16);
    for (int i = 0; i < 20; ++i) reader.read(ahead);
    CHECK(reader.surprised <= 2);
  }
}

TEST_CASE("reading ahead: none where none is wished") {
  ReadAhead ahead(0);
  for (std::uint64_t page = 0; page < 10; ++page) CHECK(ahead.reads(page, page).count == 0);
}

TEST_CASE("reading ahead: how far follows from the page and never takes more than half of the cache") {
  CHECK(read_ahead_pages({}, Frames::Shape{100'000, 4096, 1}) == 128);
  CHECK(read_ahead_pages({}, Frames::Shape{10'000, 512 << 10, 1}) == 64);
  CHECK(read_ahead_pages({}, Frames::Shape{1000, 4 << 20, 1}) == 8);
  CHECK(read_ahead_pages({}, Frames::Shape{4, 4 << 20, 1}) == 2);
  CHECK(read_ahead_pages(100, Frames::Shape{64, 4096, 1}) == 32);
  CHECK(read_ahead_pages(0, Frames::Shape{64, 4096, 1}) == 0);
}

TEST_CASE("reading ahead: so many at a time, in order, and the oldest go where too many are wanted") {
  AheadQueue queue(4, 2);
  for (std::uint64_t page = 0; page < 6; ++page) queue.add(page);  // 0 and 1 have made room
  const auto is_needed = [](std::uint64_t page) { return page != 3; };
  CHECK(queue.next(is_needed) == 2);
  CHECK(queue.next(is_needed) == 4);
  CHECK(!queue.next(is_needed));  // two are on their way
  CHECK(!queue.arrived(7));
  CHECK(queue.arrived(2));
  CHECK(!queue.arrived(2));
  CHECK(queue.next(is_needed) == 5);
  CHECK(queue.arrived(4));
  CHECK(!queue.next(is_needed));  // none is wanted
}

}  // namespace read_ahead_test
