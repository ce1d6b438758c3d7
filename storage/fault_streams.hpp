// FaultStreams: which faults go through a window in order, and which pages to fetch ahead of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace coracle::storage {

/// Pages that are there cause no fault, so a stream is known by faults at the pages that were fetched ahead for it and
/// are still on their way, or right behind them. Several streams at a time, for several threads.
class FaultStreams {
 public:
  /// At most `pages_max` ahead; 0: never.
  explicit FaultStreams(std::uint32_t pages_max) noexcept : pages_max_(pages_max) {}

  struct Pages {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// Somebody waits for `page`; gives the pages to fetch now: twice as far ahead each time, up to the limit.
  Pages fault(std::uint64_t page) noexcept {
    ++time_;
    const auto known = std::find_if(streams_.begin(), streams_.end(), [page](const Stream& each) {
      return page <= each.end && each.end - page <= each.distance;
    });
    if (known == streams_.end()) {
      const auto older = [](const Stream& one, const Stream& other) { return one.used_at < other.used_at; };
      *std::min_element(streams_.begin(), streams_.end(), older) = {page + 1, 0, time_};
      return {};
    }
    known->distance = std::min(std::max(2 * known->distance, 2U), pages_max_);
    known->used_at = time_;
    const std::uint64_t first = std::max(known->end, page + 1);
    known->end = std::max(known->end, page + 1 + known->distance);
    return {first, known->end - first};
  }

 private:
  struct Stream {
    std::uint64_t end = ~std::uint64_t{0};  ///< All before has been asked for.
    std::uint32_t distance = 0;
    std::uint64_t used_at = 0;
  };
  std::array<Stream, 16> streams_;
  std::uint64_t time_ = 0;
  std::uint32_t pages_max_;
};

}  // namespace coracle::storage
