// AheadQueue: the pages that a cache is to read ahead, and how many of them at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace coracle::internals::storage {

class AheadQueue {
 public:
  /// At most so many pages wait, and so many are on their way.
  AheadQueue(std::size_t waiting_max, std::size_t under_way_max) noexcept
      : waiting_max_(std::max<std::size_t>(1, waiting_max)), under_way_max_(std::max<std::size_t>(1, under_way_max)) {}

  void add(std::uint64_t page) {
    // The oldest are those that somebody who has turned elsewhere does not need any more.
    if (waiting_.size() >= waiting_max_) waiting_.pop_front();
    waiting_.push_back(page);
  }
  /// The next one for which `is_needed(page)` is true; from then on it is on its way.
  template <class IsNeeded>
  std::optional<std::uint64_t> next(IsNeeded is_needed) {
    while (!waiting_.empty() && under_way_.size() < under_way_max_) {
      const std::uint64_t page = waiting_.front();
      waiting_.pop_front();
      if (!is_needed(page)) continue;
      under_way_.push_back(page);
      return page;
    }
    return std::nullopt;
  }
  /// Whether that made room for another.
  bool arrived(std::uint64_t page) noexcept { return std::erase(under_way_, page) > 0; }

 private:
  std::deque<std::uint64_t> waiting_;
  std::vector<std::uint64_t> under_way_;
  std::size_t waiting_max_;
  std::size_t under_way_max_;
};

}  // namespace coracle::internals::storage
