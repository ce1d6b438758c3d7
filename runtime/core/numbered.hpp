// Numbered: objects that others know by their numbers. The number of one that is no more is given again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace coracle::internals {

/// Objects stay where they are. They are not made anew: who takes a number sets what is there.
template <class T>
class Numbered {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      all_.emplace_back();
      free_.reserve(all_.size());  // so that give_back() has room
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  void give_back(std::uint32_t number) noexcept { free_.push_back(number); }
  /// Whether there has ever been one of this number.
  bool knows(std::uint64_t number) const noexcept { return number < all_.size(); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  T& operator[](std::size_t number) noexcept { return all_[number]; }
  const T& operator[](std::size_t number) const noexcept { return all_[number]; }

 private:
  std::deque<T> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace coracle::internals
