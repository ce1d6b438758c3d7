// FaultStreams: which faults go through a window in order, and how many pages to fetch behind one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace coracle::storage {

/// Pages that were fetched ahead cause no fault, so a stream is known by the fault right behind them. Several streams
/// at a time, for several threads.
class FaultStreams {
 public:
  /// At most `pages_max` ahead; 0: never.
  explicit FaultStreams(std::uint32_t pages_max) noexcept : pages_max_(pages_max) {}

  /// How many pages after `page`, which was missing, to fetch with it: twice as many each time, up to the limit.
  std::uint32_t fault(std::uint64_t page) noexcept {
    ++time_;
    const auto known =
        std::find_if(streams_.begin(), streams_.end(), [page](const Stream& each) { return each.next == page; });
    if (known == streams_.end()) {
      const auto older = [](const Stream& one, const Stream& other) { return one.used_at < other.used_at; };
      *std::min_element(streams_.begin(), streams_.end(), older) = {page + 1, 0, time_};
      return 0;
    }
    known->distance = std::min(std::max(2 * known->distance, 2U), pages_max_);
    known->next = page + 1 + known->distance;
    known->used_at = time_;
    return known->distance;
  }

 private:
  struct Stream {
    std::uint64_t next = ~std::uint64_t{0};
    std::uint32_t distance = 0;
    std::uint64_t used_at = 0;
  };
  std::array<Stream, 16> streams_;
  std::uint64_t time_ = 0;
  std::uint32_t pages_max_;
};

}  // namespace coracle::storage
