// The ways of reading a file of numbered pages that `coracle bench mapped` compares: awaited gets, and ordinary loads
// through a window.
#pragma once

#include <fmt/format.h>
#include <coracle/mapped.hpp>

#include <algorithm>
#include <cstdint>

#include "apps/bench/pages/numbered_pages.hpp"
#include "apps/bench/pages/pages.hpp"
#include "apps/bench/pages/raw_reads.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::bench {

/// Of a sequential reader's gets, and of what is written at once.
inline constexpr std::size_t kMappedChunk = 4 << 20;

inline void expect_none_wrong(std::uint64_t wrong, const char* how) {
  if (wrong > 0) throw Error(Errc::bad_input, fmt::format("{} pages are wrong, read by {}", wrong, how));
}

/// Every page that is read is checked; a wrong one throws Error.
class Gets {
 public:
  explicit Gets(PagedSegment& segment) : segment_(segment) {}
  /// `count` pages, `depth` gets at a time, at most 64.
  Task<> random(std::uint64_t depth, std::uint64_t count, std::uint64_t seed) {
    PromiseBase& own = co_await this_coroutine();
    Scope scope(own.loop(), &own.scope());
    for (std::uint64_t i = 0; i < depth; ++i)
      scope.spawn(random_one(i, std::max<std::uint64_t>(count / depth, 1), seed + i));
    co_await scope.join();
  }
  /// In chunks; goes on where it was, at the end from the start.
  Task<> in_order(std::uint64_t count) {
    std::uint64_t wrong = 0;
    for (std::uint64_t bytes = count * kNumberedPage; bytes > 0;) {
      const auto part =
          static_cast<std::size_t>(std::min<std::uint64_t>({bytes, kMappedChunk, segment_.bytes() - at_}));
      const std::span<std::byte> target(buffer_.data(), part);
      co_await segment_.get(at_, target);
      for (std::size_t i = 0; i < part; i += kNumberedPage)
        if (!is_numbered(target.data() + i, (at_ + i) / kNumberedPage)) ++wrong;
      at_ = at_ + part == segment_.bytes() ? 0 : at_ + part;
      bytes -= part;
    }
    expect_none_wrong(wrong, "get");
    co_await finish_reading_ahead(segment_);
  }

 private:
  Task<> random_one(std::uint64_t place, std::uint64_t count, std::uint64_t seed) {
    SplitMix64 random(seed);
    const std::span<std::byte> target(buffer_.data() + place * kNumberedPage, kNumberedPage);
    std::uint64_t wrong = 0;
    for (; count > 0; --count) {
      const std::uint64_t page = random.below(segment_.bytes() / kNumberedPage);
      co_await segment_.get(page * kNumberedPage, target);
      if (!is_numbered(target.data(), page)) ++wrong;
    }
    expect_none_wrong(wrong, "get");
  }

  PagedSegment& segment_;
  std::uint64_t at_ = 0;  // bytes
  HugeBuffer buffer_{kMappedChunk};
};

class Loads {
 public:
  Loads(MappedSegment& window, PagedSegment& segment, std::uint64_t pages) noexcept
      : window_(window), segment_(segment), pages_(pages) {}
  /// `count` pages by so many threads together.
  Task<> random(std::uint64_t threads, std::uint64_t count, std::uint64_t seed) const {
    PromiseBase& own = co_await this_coroutine();
    Scope scope(own.loop(), &own.scope());
    for (std::uint64_t i = 0; i < threads; ++i)
      scope.spawn(load({pages_, std::max<std::uint64_t>(count / threads, 1), seed + i, true}));
    co_await scope.join();
  }
  /// From page `first` on, by one thread.
  Task<> in_order(std::uint64_t first, std::uint64_t count) const {
    co_await load({pages_, count, first % pages_, false});
    co_await finish_reading_ahead(segment_);
  }

 private:
  Task<> load(LoadPlan plan) const {
    const std::byte* file = window_.data();
    const std::uint64_t wrong = co_await window_.run([file, plan] { return load_pages(file, plan); });
    expect_none_wrong(wrong, "loads through the window");
  }

  MappedSegment& window_;
  PagedSegment& segment_;
  std::uint64_t pages_;
};

}  // namespace coracle::internals::bench
