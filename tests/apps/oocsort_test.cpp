// oocsort's parts: keys, blocks, merging, the division of memory and of runs, and its command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "apps/common/split_mix.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/record.hpp"
#include "apps/oocsort/sorting.hpp"
#include "apps/oocsort/user_interface.hpp"
#include "runtime/core/error.hpp"
#include "tests/apps/parse_words.hpp"
#include "tests/lone_rank.hpp"

namespace coracle::oocsort::oocsort_test {

using namespace internals;
namespace {

using Bytes = std::vector<std::byte>;

const RecordShape kShapes[] = {{16, 8, KeyOrder::little}, {16, 8, KeyOrder::bytes},  {10, 1, KeyOrder::little},
                               {5, 3, KeyOrder::bytes},   {24, 20, KeyOrder::bytes}, {24, 20, KeyOrder::little},
                               {1, 1, KeyOrder::little},  {9, 9, KeyOrder::bytes}};

/// Few values of each byte of the key, so that keys are often equal; the rest is the record's number.
Bytes random_records(const RecordShape& shape, std::size_t count, std::uint64_t seed) {
  SplitMix64 random(seed);
  Bytes records(count * shape.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const record = records.data() + i * shape.bytes;
    for (std::size_t k = 0; k < shape.key_bytes; ++k)
      record[k] = static_cast<std::byte>(k < 9 && shape.key_bytes > 9 ? 7 : random.below(4) * 85);
    std::memcpy(record + shape.key_bytes, &i, std::min<std::size_t>(4, shape.bytes - shape.key_bytes));
  }
  return records;
}

/// The same by the definition of the order, a byte at a time.
bool key_before(const RecordShape& shape, const std::byte* one, const std::byte* other) {
  const auto reversed = [&shape](const std::byte* key) {
    Bytes bytes(key, key + shape.key_bytes);
    if (shape.order == KeyOrder::little) std::ranges::reverse(bytes);
    return bytes;
  };
  return reversed(one) < reversed(other);
}

Bytes sorted_plainly(const RecordShape& shape, const Bytes& records) {
  std::vector<Bytes> list;
  for (std::size_t at = 0; at < records.size(); at += shape.bytes)
    list.emplace_back(records.begin() + static_cast<std::ptrdiff_t>(at),
                      records.begin() + static_cast<std::ptrdiff_t>(at + shape.bytes));
  std::ranges::stable_sort(
      list, [&shape](const Bytes& one, const Bytes& other) { return key_before(shape, one.data(), other.data()); });
  Bytes sorted;
  for (const Bytes& record : list) sorted.insert(sorted.end(), record.begin(), record.end());
  return sorted;
}

std::variant<Options, int> parse(std::vector<std::string> words) {
  return apps_test::parse_words(parse_options, std::move(words));
}

int status_of(std::vector<std::string> words) {
  return apps_test::status_of_words(parse_options, std::move(words));
}

}  // namespace

TEST_CASE("records: keys are compared as their order says") {
  const std::array<std::byte, 4> one = {std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0}};
  const std::array<std::byte, 4> other = {std::byte{2}, std::byte{1}, std::byte{0}, std::byte{0}};
  CHECK(RecordShape{4, 2, KeyOrder::bytes}.compare(one.data(), other.data()) < 0);
  CHECK(RecordShape{4, 2, KeyOrder::little}.compare(one.data(), other.data()) > 0);
  CHECK(RecordShape{4, 1, KeyOrder::little}.compare(one.data(), other.data()) < 0);
  for (const RecordShape& shape : kShapes) {
    const Bytes records = random_records(shape, 64, 5);
    for (std::size_t i = 0; i < 64; ++i) {
      for (std::size_t j = 0; j < 64; ++j) {
        const std::byte* const left = records.data() + i * shape.bytes;
        const std::byte* const right = records.data() + j * shape.bytes;
        CHECK((shape.compare(left, right) < 0) == key_before(shape, left, right));
        if (shape.prefix(left) < shape.prefix(right)) CHECK(key_before(shape, left, right));
      }
    }
  }
}

TEST_CASE("records: the checksum knows records but not their order") {
  const RecordShape shape{16, 8, KeyOrder::little};
  Bytes records = random_records(shape, 100, 3);
  const std::uint64_t sum = checksum(records, 16);
  CHECK(checksum(sorted_plainly(shape, records), 16) == sum);
  CHECK(checksum(std::span(records).first(160), 16) + checksum(std::span(records).subspan(160), 16) == sum);
  records[37] ^= std::byte{1};
  CHECK(checksum(records, 16) != sum);
  // Two records that exchange a part are others.
  records[37] ^= std::byte{1};
  std::swap_ranges(records.begin() + 8, records.begin() + 16, records.begin() + 24);
  CHECK(checksum(records, 16) != sum);
}

TEST_CASE("blocks: records of any shape are sorted and equal keys stay in order") {
  for (const RecordShape& shape : kShapes) {
    BlockSorter sorter(shape);
    for (const std::size_t count : {0U, 1U, 2U, 300U, 5000U}) {
      CAPTURE(count);
      Bytes records = random_records(shape, count, count);
      const Bytes expected = sorted_plainly(shape, records);
      sorter.sort(records);
      CHECK(records == expected);
    }
  }
}

TEST_CASE("merging: sources in pieces of any size come out as one and equal keys in the order of the sources") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const RecordShape& shape = kShapes[seed % std::size(kShapes)];
    SplitMix64 random(seed);
    const std::size_t sources = 1 + random.below(9);
    BlockSorter sorter(shape);
    std::vector<Bytes> runs;
    Bytes all;
    for (std::size_t i = 0; i < sources; ++i) {
      Bytes run = random_records(shape, random.below(60), seed * 100 + i);
      sorter.sort(run);
      all.insert(all.end(), run.begin(), run.end());
      runs.push_back(std::move(run));
    }
    std::vector<std::size_t> fed(sources);
    Merger merger(shape, sources);
    const auto feed = [&](std::size_t i) {
      const std::size_t left = (runs[i].size() - fed[i]) / shape.bytes;
      const std::size_t piece = left == 0 ? 0 : (1 + random.below(left)) * shape.bytes;
      merger.feed(i, std::span(runs[i]).subspan(fed[i], piece));
      fed[i] += piece;
    };
    for (std::size_t i = 0; i < sources; ++i) feed(i);
    Bytes merged;
    while (!merger.done()) {
      Bytes target((1 + random.below(20)) * shape.bytes);
      const Merged step = merger.merge(target);
      merged.insert(merged.end(), target.begin(), target.begin() + static_cast<std::ptrdiff_t>(step.bytes));
      if (step.dry) feed(*step.dry);
    }
    CHECK(merged == sorted_plainly(shape, all));
  }
}

TEST_CASE("outflow: records that cross the pieces' ends arrive whole and where they belong") {
  test::LoneRank lone;
  for (const std::size_t record : {1U, 7U, 16U, 50U}) {
    for (const std::size_t count : {0U, 1U, 9U, 400U}) {
      const Bytes records = random_records({record, 1, KeyOrder::little}, count, 9);
      Bytes file(records.size() + 100);
      std::vector<std::size_t> sizes;
      Outflow out(record, 32, [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Task<> {
        return
            [](Bytes& to, std::vector<std::size_t>& all, std::uint64_t at, std::span<const std::byte> from) -> Task<> {
              co_await yield();
              all.push_back(from.size());
              std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(at));
            }(file, sizes, offset, bytes);
      });
      const auto write = [](Scope& scope, Outflow& to, const Bytes& from) -> Task<> {
        to.begin(100);
        for (std::size_t at = 0; at < from.size();) {
          const std::span<std::byte> room = co_await to.room(scope);
          const std::size_t part = std::min(room.size(), from.size() - at);
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), part, room.begin());
          to.filled(part);
          at += part;
        }
        co_await to.finish(scope);
      };
      lone.loop.run(with_scope(+write, std::ref(out), std::cref(records)));
      CHECK(std::equal(records.begin(), records.end(), file.begin() + 100, file.end()));
      CHECK(sizes.size() == (records.size() + 31) / 32);
    }
  }
}

TEST_CASE("plan: all records are in runs; runs are in their rank's pages; memory is kept to") {
  for (const std::uint64_t records : {0ULL, 1ULL, 5ULL, 1000ULL, 300'000ULL, 10'000'000ULL}) {
    for (const std::uint32_t ranks : {1U, 3U, 8U}) {
      for (const RecordShape& shape : kShapes) {
        CAPTURE(records);
        CAPTURE(ranks);
        CAPTURE(shape.bytes);
        const std::uint64_t memory = 16 << 20;
        const Plan plan = make_plan(shape, records, ranks, memory, 0);
        std::uint64_t all = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          std::uint64_t own = 0;
          std::uint64_t end = rank * plan.region_bytes;
          for (std::uint64_t i = 0; i < plan.runs_of(rank); ++i) {
            const Run& run = plan.runs.at(plan.first_run_of(rank) + i);
            CHECK(run.offset >= end);
            CHECK(run.offset % plan.page_bytes == 0);
            end = run.offset + run.records * shape.bytes;
            own += run.records;
            CHECK(run.records * shape.bytes <= memory * 5 / 16);
          }
          CHECK(end <= (rank + 1) * plan.region_bytes);
          CHECK(own == plan.first_of(rank + 1) - plan.first_of(rank));
          all += own;
        }
        CHECK(all == records);
        CHECK(2 * plan.runs.size() * plan.piece_records * shape.bytes <= memory / 2);
      }
    }
  }
}

TEST_CASE("plan: too little memory is refused and what is named is enough") {
  const RecordShape shape{16, 8, KeyOrder::little};
  const std::uint64_t records = 500'000'000;
  CHECK_THROWS_WITH_AS(make_plan(shape, records, 4, 1 << 20, 0), doctest::Contains("allow 22M or more"), Error);
  CHECK_THROWS_AS(make_plan(shape, records, 4, 16 << 20, 0), Error);
  CHECK(make_plan(shape, records, 4, 22 << 20, 0).page_bytes == 4096);
  CHECK_THROWS_WITH_AS(make_plan(shape, 1000, 1, 1 << 20, 1 << 20), doctest::Contains("allow 64M"), Error);
}

TEST_CASE("splitters: parts are about equal also where all keys are") {
  for (const bool equal : {false, true}) {
    for (const RecordShape& shape : kShapes) {
      Plan plan = make_plan(shape, 40'000, 4, 1 << 20, 0);
      plan.sample_step = 50;
      std::vector<Bytes> runs;
      Bytes keys;
      for (std::size_t i = 0; i < plan.runs.size(); ++i) {
        Bytes run = random_records(shape, plan.runs[i].records, i);
        if (equal) std::ranges::fill(run, std::byte{3});
        BlockSorter(shape).sort(run);
        for (std::size_t at = 0; at < plan.runs[i].records; at += 50)
          keys.insert(keys.end(), run.begin() + static_cast<std::ptrdiff_t>(at * shape.bytes),
                      run.begin() + static_cast<std::ptrdiff_t>(at * shape.bytes + shape.key_bytes));
        runs.push_back(std::move(run));
      }
      const Samples samples(plan, keys);
      for (std::uint32_t part = 1; part < 4; ++part) {
        const Splitter splitter = samples.splitter(part, 4);
        std::uint64_t all = 0;
        for (std::uint64_t run = 0; run < runs.size(); ++run) {
          // What really comes before it, one record after the other.
          std::uint64_t before = 0;
          for (std::uint64_t i = 0; i < plan.runs[run].records; ++i) {
            const bool is = run == splitter.run
                                ? i < splitter.record
                                : comes_before(shape, runs[run].data() + i * shape.bytes, run, splitter);
            if (is) ++before;
          }
          const Bounds bounds = samples.bounds(splitter, run);
          CHECK(bounds.low <= before);
          CHECK(before <= bounds.high);
          CHECK(bounds.high - bounds.low <= 50);
          all += before;
        }
        const std::uint64_t slack = 50 * (runs.size() + 1);
        CHECK(all + slack >= part * 10'000);
        CHECK(all <= part * 10'000 + slack);
      }
    }
  }
}

TEST_CASE("random records: the key is random and then comes the number") {
  const RecordShape shape{20, 12, KeyOrder::bytes};
  Bytes one(20);
  Bytes again(20);
  Bytes other(20);
  make_record(shape, 1, 77, one);
  make_record(shape, 1, 77, again);
  make_record(shape, 1, 78, other);
  CHECK(one == again);
  CHECK(std::memcmp(one.data(), other.data(), 12) != 0);
  std::uint64_t number = 0;
  std::memcpy(&number, one.data() + 12, 8);
  CHECK(number == 77);
}

TEST_CASE("oocsort options: what is understood, and wrong usage") {
  const Options options = std::get<Options>(parse({"in", "a/out", "--record", "100", "--key", "10", "--order", "bytes",
                                                   "--memory", "2M", "--page", "64K", "--verify", "--force"}));
  CHECK(options.input == "in");
  CHECK(options.output == "a/out");
  CHECK(options.scratch == "a");
  CHECK(options.shape.bytes == 100);
  CHECK(options.shape.key_bytes == 10);
  CHECK(options.shape.order == KeyOrder::bytes);
  CHECK(options.memory == 2 << 20);
  CHECK(options.page_bytes == 65536);
  CHECK(options.verify);
  CHECK(options.force);
  const Options made = std::get<Options>(parse({"--generate", "5", "file"}));
  CHECK(made.generated == 5);
  CHECK(made.output == "file");
  CHECK(made.scratch == ".");
  CHECK(status_of({"--help"}) == 0);
  CHECK(status_of({"in"}) == 2);
  CHECK(status_of({"--generate", "5", "in", "out"}) == 2);
  CHECK(status_of({"in", "out", "--key", "17"}) == 2);
  CHECK(status_of({"in", "out", "--memory", "1K"}) == 2);
  CHECK(status_of({"in", "out", "--page", "5K"}) == 2);
  CHECK(status_of({"in", "out", "--order", "big"}) == 2);
}

}  // namespace coracle::oocsort::oocsort_test
