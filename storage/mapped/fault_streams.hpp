// FaultStreams: which faults go through a window in order, and which pages to fetch ahead of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace coracle::internals::storage {

/// Pages that are there cause no fault, so a stream is known by faults at the pages that were fetched ahead for it: at
/// those still on their way, right behind them, and at the first of each batch, which is to be a mark: it tells that
/// the next batch is needed before the reader has to wait for it. Several streams at a time, for several threads.
class FaultStreams {
 public:
  /// At most `pages_max` ahead, in batches of half of that; 0: never.
  explicit FaultStreams(std::uint32_t pages_max) noexcept : batch_max_((pages_max + 1) / 2) {}

  struct Pages {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// Somebody has come to `page`; gives the batch to fetch now, if any: each twice as long as the last, up to the
  /// limit.
  Pages fault(std::uint64_t page) noexcept {
    ++time_;
    const auto known = std::find_if(streams_.begin(), streams_.end(), [page](const Stream& each) {
      return page <= each.end && each.end - page <= 2ULL * each.batch;
    });
    if (known == streams_.end()) {
      const auto older = [](const Stream& one, const Stream& other) { return one.used_at < other.used_at; };
      *std::min_element(streams_.begin(), streams_.end(), older) = {page + 1, 0, time_};
      return {};
    }
    known->used_at = time_;
    if (known->end > page + known->batch) return {};  // not yet at the mark
    known->batch = std::min(std::max(2 * known->batch, 1U), batch_max_);
    const std::uint64_t first = std::max(known->end, page + 1);
    known->end = first + known->batch;
    return {first, known->batch};
  }

 private:
  struct Stream {
    std::uint64_t end = ~std::uint64_t{0};  ///< All before has been asked for.
    std::uint32_t batch = 0;
    std::uint64_t used_at = 0;
  };
  std::array<Stream, 16> streams_;
  std::uint64_t time_ = 0;
  std::uint32_t batch_max_;
};

}  // namespace coracle::internals::storage
