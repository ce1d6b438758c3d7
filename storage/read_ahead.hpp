// ReadAhead: whether a reader goes through pages in order, and which to fetch before it comes to them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace coracle::storage {

class ReadAhead {
 public:
  /// At most `pages_max` pages ahead; 0: never.
  explicit ReadAhead(std::uint32_t pages_max) noexcept : pages_max_(pages_max) {}

  struct Pages {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// The reader has come to pages [first, last]; gives those to fetch now. It is taken for sequential when it goes on
  /// where it was, and then the distance doubles up to its limit.
  Pages reads(std::uint64_t first, std::uint64_t last) noexcept {
    if (pages_max_ == 0) return {};
    if (last == next_ - 1 && first + 1 >= next_) return {};  // within the page of the last time
    const bool goes_on = first == next_ || first + 1 == next_;
    next_ = last + 1;
    if (!goes_on) {
      distance_ = 0;
      asked_ = next_;
      return {};
    }
    distance_ = std::min(std::max(2 * distance_, 2U), pages_max_);
    asked_ = std::max(asked_, next_);
    const std::uint64_t end = next_ + distance_;
    // Half of the distance at a time, so that requests go out in batches.
    if (end < asked_ + std::max(distance_ / 2, 1U)) return {};
    const Pages pages{asked_, end - asked_};
    asked_ = end;
    return pages;
  }

 private:
  std::uint32_t pages_max_;
  std::uint32_t distance_ = 0;
  std::uint64_t next_ = 0;   // the page after the last that was read
  std::uint64_t asked_ = 0;  // up to here all has been asked for
};

}  // namespace coracle::storage
