// `coracle bench pack`: the patterns of DDTBench packed, unpacked and copied straight from layout to layout, beside the
// loops that people write by hand and a memcpy of as many bytes.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/ddt/ddt_patterns.hpp"
#include "apps/bench/measure/batches.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals::bench {
namespace {

/// A pattern's buffers, each byte of them touched.
struct Memory {
  std::vector<std::byte> source;
  std::vector<std::byte> target;
  std::vector<std::byte> packed;
  std::vector<std::byte> copied;

  explicit Memory(const DdtPattern& pattern)
      : source(pattern.send.buffer_bytes, std::byte{1}),
        target(pattern.receive.buffer_bytes, std::byte{2}),
        packed(pattern.bytes, std::byte{3}),
        copied(pattern.bytes, std::byte{4}) {}
};

/// Medians of what was measured of one pattern, in nanoseconds.
struct Figures {
  Figure pack, pack_by_hand, unpack, unpack_by_hand, copy, both, memcpy;
};

/// Two ways in alternation, and none else: a third one would leave the caches of the first cold.
Task<std::pair<Figure, Figure>> contest_of(Bench& bench, Contest::PlainBatch first, Contest::PlainBatch second) {
  Contest contest(bench.self, bench.plan);
  const auto one = contest.add_plain(std::move(first));
  const auto other = contest.add_plain(std::move(second));
  co_await contest.run();
  if (!bench.keeps_time()) co_return std::pair<Figure, Figure>();
  co_return std::pair(contest.figure(one), contest.figure(other));
}

Task<Figures> measure(Bench& bench, const DdtPattern& pattern) {
  Memory memory(pattern);
  const ScatteredSource source{memory.source.data(), pattern.send.layout, pattern.send.count};
  const ScatteredTarget target{memory.target.data(), pattern.receive.layout, pattern.receive.count};
  const auto packing = plainly([&] { pack(source, 0, memory.packed); });
  const auto packing_by_hand = plainly([&] { pattern.pack_by_hand(memory.source.data(), memory.packed.data()); });
  const auto unpacking = plainly([&] { unpack(memory.packed, 0, target); });
  const auto unpacking_by_hand = plainly([&] { pattern.unpack_by_hand(memory.packed.data(), memory.target.data()); });
  const auto copying = plainly([&] { copy(target, source, 0, pattern.bytes); });
  const auto both = plainly([&] {
    pack(source, 0, memory.packed);
    unpack(memory.packed, 0, target);
  });
  const auto plain = plainly([&] { std::memcpy(memory.copied.data(), memory.packed.data(), pattern.bytes); });
  const std::pair packs = co_await contest_of(bench, packing, packing_by_hand);
  const std::pair unpacks = co_await contest_of(bench, unpacking, unpacking_by_hand);
  const std::pair copies = co_await contest_of(bench, copying, both);
  const std::pair plains = co_await contest_of(bench, plain, plain);
  co_return Figures{packs.first,  packs.second,  unpacks.first, unpacks.second,
                    copies.first, copies.second, plains.first};
}

/// Geometric mean of how often faster than their limits the rows of a table were, and the least.
struct Gain {
  double logarithms = 0;
  double least = 1e300;
  int count = 0;

  void add(const Figure& value, const Figure& limit) {
    const double gain = limit.median / value.median;
    logarithms += std::log(gain);
    least = std::min(least, gain);
    ++count;
  }
  void report(Bench& bench, const std::string& what) const {
    const double mean = std::exp(logarithms / count);
    const std::string title = "Times as fast, over all patterns";
    bench.report.add(title, {what + ", geometric mean", "x", {mean, mean, mean}, "", {}, 0, {}});
    bench.report.add(title, {what + ", least", "x", {least, least, least}, "", {}, 0, {}});
  }
};

struct Gains {
  Gain pack, unpack, copy;
};

void report(Bench& bench, const DdtPattern& pattern, const Figures& found, Gains& gains) {
  const std::string name = fmt::format("{} {}", pattern.name, pattern.size);
  const auto bytes = static_cast<double>(pattern.bytes);
  const nlohmann::json details = {{"memcpy_ns", found.memcpy.median}};
  const char* by_hand = "the loop by hand";
  bench.report.add("Packing", {name, "ns", found.pack, by_hand, found.pack_by_hand, bytes, {}, details});
  bench.report.add("Unpacking", {name, "ns", found.unpack, by_hand, found.unpack_by_hand, bytes, {}, details});
  bench.report.add("Copying from layout to layout",
                   {name, "ns", found.copy, "pack and unpack", found.both, bytes, {}, details});
  bench.report.add("A memcpy of as many bytes", {name, "ns", found.memcpy, "", {}, bytes, {}});
  gains.pack.add(found.pack, found.pack_by_hand);
  gains.unpack.add(found.unpack, found.unpack_by_hand);
  gains.copy.add(found.copy, found.both);
}

Task<> bench_pack(Bench& bench) {
  Gains gains;
  for (const DdtPattern& pattern : ddt_patterns()) {
    if (bench.plan.quick && pattern.send.buffer_bytes > kQuickBytesMax) continue;
    const Figures found = co_await measure(bench, pattern);
    if (bench.keeps_time()) report(bench, pattern, found, gains);
  }
  if (!bench.keeps_time()) co_return;
  gains.pack.report(bench, "pack, than the loop by hand");
  gains.unpack.report(bench, "unpack, than the loop by hand");
  gains.copy.report(bench, "copy, than pack and unpack");
}

}  // namespace

std::unique_ptr<Benchmark> pack_benchmark() {
  return benchmark_of({.name = "pack", .help = "DDTBench's patterns by layouts beside loops by hand", .ranks = {1}},
                      bench_pack);
}

}  // namespace coracle::internals::bench
