// Containers that keep the memory of what leaves them for what comes: RingQueue and Numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace coracle::internals {

/// First in, first out, in one piece of memory that grows and is then kept: unlike std::deque it allocates nothing once
/// it has reached its size.
template <class T>
class RingQueue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) noexcept { return slots_[(first_ + index) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t index) const noexcept { return slots_[(first_ + index) & (slots_.size() - 1)]; }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  void push_back(T value) {
    if (size_ == slots_.size()) grow();
    ++size_;
    back() = std::move(value);
  }
  void pop_front() noexcept {
    front() = T();
    first_ = (first_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void pop_back() noexcept {
    back() = T();
    --size_;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    first_ = 0;
  }
  std::vector<T> slots_;  // a power of two of them
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

/// Objects that others know by their numbers. The number of one that is no more is given again. Objects stay where they
/// are. They are not made anew: who takes a number sets what is there.
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
