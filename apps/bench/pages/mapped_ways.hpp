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

inline void expect_none_wrong(std::uint64_t wrong, const char* how) {
  if (wrong > 0) throw Error(Errc::bad_input, fmt::format("{} pages are wrong, read by {}", wrong, how));
}

/// Every page that is read is checked; a wrong one throws Error.
class Gets {
 public:
  static constexpr std::uint64_t kDepthMax = 64;

  explicit Gets(PagedSegment& segment) : segment_(segment) {}
  Gets(const Gets&) = delete;
  Gets& operator=(const Gets&) = delete;
  /// `count` pages, `depth` gets at a time, at most kDepthMax.
  Task<> random(std::uint64_t depth, std::uint64_t count, std::uint64_t seed) {
    PromiseBase& own = co_await this_coroutine();
    Scope scope(own.loop(), &own.scope());
    for (std::uint64_t i = 0; i < depth; ++i)
      scope.spawn(random_one(i, std::max<std::uint64_t>(count / depth, 1), seed + i));
    co_await scope.join();
  }
  Task<> in_order(std::uint64_t count) {
    wrong_ = 0;
    co_await in_order_.read(count * kNumberedPage);
    expect_none_wrong(wrong_, "get");
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

  void look(std::span<const std::byte> bytes, std::uint64_t offset) {
    for (std::size_t i = 0; i < bytes.size(); i += kNumberedPage)
      if (!is_numbered(bytes.data() + i, (offset + i) / kNumberedPage)) ++wrong_;
  }

  PagedSegment& segment_;
  std::uint64_t wrong_ = 0;
  InOrder in_order_{segment_, [this](std::span<const std::byte> bytes, std::uint64_t offset) { look(bytes, offset); }};
  HugeBuffer buffer_{kDepthMax * kNumberedPage};
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
