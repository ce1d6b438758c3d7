// ReadAhead: who goes through pages in order, and which to fetch before he comes to them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "storage/pages/frames.hpp"

namespace coracle::internals::storage {

/// How far to read ahead in such a cache (see PagedOptions::read_ahead_pages).
inline std::uint32_t read_ahead_pages(std::optional<std::uint32_t> wished, const Frames::Shape& cache) noexcept {
  constexpr std::uint32_t kBytes = 32 << 20;
  const std::uint32_t usual = std::clamp(kBytes / cache.page_bytes, 4U, 128U);
  return std::min(wished.value_or(usual), cache.frames / 2);
}

/// Several sequences are told apart, as of coroutines that read different parts of a segment.
class ReadAhead {
 public:
  /// At most `pages_max` pages ahead, of all sequences together; 0: never.
  explicit ReadAhead(std::uint32_t pages_max) noexcept : pages_max_(pages_max) {}

  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Pages {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// A reader has come to pages [first, last]; gives those to fetch now. It is taken for sequential when it goes on
  /// where one was, and then the distance doubles up to its limit.
  Pages reads(std::uint64_t first, std::uint64_t last) noexcept {
    if (pages_max_ == 0) return {};
    if (last + 1 == latest_->next && first + 1 >= latest_->next) return {};  // within the page of the last time
    return follow(first, last);
  }

 private:
  struct Sequence {
    std::uint64_t next = 0;   // the page after the last that was read
    std::uint64_t asked = 0;  // up to here all has been asked for
    std::uint64_t used_at = 0;
    std::uint32_t distance = 0;  // 0: not yet known to be one
  };
  static constexpr std::size_t kSequences = 8;
  // In reads elsewhere: when another may have a sequence's place; and when it is taken to have ended, which is soon:
  // one that begins where it ended (a loop over the same pages) must not share with it for long.
  static constexpr std::uint64_t kForgetAfter = 64;
  static constexpr std::uint64_t kEndedAfter = kSequences;

  bool used_within(std::uint64_t reads, const Sequence& each) const noexcept {
    return each.distance > 0 && each.used_at + reads > now_;
  }

  Pages follow(std::uint64_t first, std::uint64_t last) noexcept {
    ++now_;
    const auto goes_on = [first](const Sequence& each) { return first == each.next || first + 1 == each.next; };
    latest_ = std::find_if(sequences_.begin(), sequences_.end(), goes_on);
    if (latest_ == sequences_.end()) {
      // Single reads take each other's places, rather than that of a sequence that goes on.
      const auto less_needed = [this](const Sequence& one, const Sequence& other) {
        const bool needed = used_within(kForgetAfter, other);
        return used_within(kForgetAfter, one) != needed ? needed : one.used_at < other.used_at;
      };
      latest_ = std::min_element(sequences_.begin(), sequences_.end(), less_needed);
      *latest_ = {last + 1, last + 1, now_, 0};
      return {};
    }
    latest_->used_at = now_;
    latest_->next = last + 1;
    latest_->distance = std::min(std::max(2 * latest_->distance, 2U), share());
    return ahead_of(*latest_);
  }
  /// Of the pages that may be ahead, one sequence's.
  std::uint32_t share() const noexcept {
    const auto going_on = std::count_if(sequences_.begin(), sequences_.end(),
                                        [this](const Sequence& each) { return used_within(kEndedAfter, each); });
    return std::max(pages_max_ / static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(going_on, 1)), 1U);
  }
  static Pages ahead_of(Sequence& sequence) noexcept {
    sequence.asked = std::max(sequence.asked, sequence.next);
    const std::uint64_t end = sequence.next + sequence.distance;
    // A quarter of the distance at a time, so that requests go out in batches.
    if (end < sequence.asked + std::max(sequence.distance / 4, 1U)) return {};
    const Pages pages{sequence.asked, end - sequence.asked};
    sequence.asked = end;
    return pages;
  }

  std::uint32_t pages_max_;
  std::uint64_t now_ = kForgetAfter;
  std::array<Sequence, kSequences> sequences_{};
  Sequence* latest_ = sequences_.data();  // of the last read
};

/// The pages that a cache is to read ahead, and how many of them at the same time.
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
