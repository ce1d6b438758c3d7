// How rooms follow each other.
#include "runtime/job/round_arena.hpp"

#include <algorithm>

namespace coracle::internals {

std::byte* RingAllocator::take(std::uint64_t round, std::size_t bytes, std::uint64_t over) {
  const std::uint64_t wanted = (std::max<std::uint64_t>(bytes, 1) + 63) / 64 * 64;
  if (bytes > bytes_) return nullptr;
  while (!rooms_.empty() && rooms_.front().round <= over) rooms_.pop_front();
  std::uint64_t begin = rooms_.empty() ? 0 : rooms_.back().end;
  const std::uint64_t oldest = rooms_.empty() ? 0 : rooms_.front().begin;
  bool fits;
  if (rooms_.empty() || begin > oldest) {
    // Free: all behind the newest, and all before the oldest.
    if (!rooms_.empty() && (begin >= cached_bytes_ || begin + wanted > bytes_) && wanted <= oldest) begin = 0;
    fits = begin + wanted <= bytes_;
  } else {
    fits = begin + wanted <= oldest;
  }
  if (!fits) return nullptr;
  rooms_.push_back({round, begin, begin + wanted});
  return base_ + begin;
}

}  // namespace coracle::internals
