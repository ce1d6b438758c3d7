// Gets and puts of pages that are cached, beside a memcpy of as many bytes.
#include <fmt/format.h>

#include <cstring>

#include "apps/bench/pages/pages.hpp"
#include "apps/bench/pages/raw_reads.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kHitPage = 64 * 1024;
constexpr std::size_t kHitSizes[] = {8, 64, 4096, kHitPage};

class Hits {
 public:
  Hits(Bench& bench, PagedSegment& segment) : bench_(bench), segment_(segment) {}

  Task<> measure(bool writing, std::size_t bytes) {
    Contest contest(bench_.self, bench_.plan);
    const auto ours = contest.add(
        [this, writing, bytes](std::uint64_t count) { return writing ? puts(bytes, count) : gets(bytes, count); });
    const auto limit = contest.add_plain([this, bytes](std::uint64_t count) {
      for (; count != 0; --count) {
        std::memcpy(own_.data(), beside_.data(), opaque(bytes));
        fence_compiler();
      }
    });
    co_await contest.run();
    const char* verb = writing ? "put" : "get";
    const std::string size = size_text(bytes);
    Row row = contest.row(fmt::format("{}, {}", verb, size), ours, "memcpy, one core", limit, bytes);
    row.details = {{"part", "hits"}, {"verb", verb}, {"bytes", bytes}};
    bench_.report.add("Pages: cached ones of 64 KiB", std::move(row));
    Row above{fmt::format("{}, {}: above memcpy", verb, size), "ns", contest.difference(ours, limit), "", {}, 0, {}};
    above.details = {{"part", "above memcpy"}, {"verb", verb}, {"bytes", bytes}};
    bench_.report.add("Pages: time of hits above memcpy; goal: 100 ns", std::move(above));
  }

 private:
  Task<> gets(std::size_t bytes, std::uint64_t count) {
    const std::span<std::byte> target(own_.data(), bytes);
    for (; count != 0; --count) {
      co_await segment_.get(0, target);
      fence_compiler();
    }
  }
  Task<> puts(std::size_t bytes, std::uint64_t count) {
    const std::span<const std::byte> source(own_.data(), bytes);
    for (; count != 0; --count) {
      co_await segment_.put(0, source);
      fence_compiler();
    }
  }

  Bench& bench_;
  PagedSegment& segment_;
  HugeBuffer own_{kHitPage};
  HugeBuffer beside_{kHitPage};
};

}  // namespace

Task<> bench_page_hits(Bench& bench) {
  constexpr std::uint64_t kBytes = 16 * kHitPage;
  const PagedOptions options = paged_options(bench, kBytes, kHitPage, 2 * kBytes);
  PagedSegment segment = co_await written_segment(bench.self, options);
  {
    Hits hits(bench, segment);
    for (const bool writing : {false, true})
      for (const std::size_t bytes : kHitSizes) co_await hits.measure(writing, bytes);
  }
  co_await segment.close();
}

}  // namespace coracle::internals::bench
