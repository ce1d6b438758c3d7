// A few address ranges that a task must remember, without locks for the reasons in zone.hpp: one word holds a whole
// range, so that every change is one compare-and-exchange. Used for what the kernel insisted to place outside the
// partition.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/pvas/partition_layout.hpp"

namespace coracle::internals::pvas {

/// Plain data in the control block. Ranges are whole pages, at most 1 TiB each; when all entries are taken a range is
/// not remembered (and stays mapped after the task's end). Relaxed throughout: an entry guards no other memory.
struct RangeTable {
  static constexpr unsigned kEntries = 64;
  static constexpr unsigned kCountBits = 28;

  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  std::uint64_t entries[kEntries] = {};

  Range at(unsigned i) const noexcept { return unpack(entry(i).load(std::memory_order_relaxed)); }

  void add(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t packed = pack(begin, end);
    for (unsigned i = 0; packed != 0 && i < kEntries; ++i) {
      std::uint64_t expected = 0;
      if (entry(i).compare_exchange_strong(expected, packed, std::memory_order_relaxed)) return;
    }
  }

  /// Removes what overlaps [begin, end); the rest of a range stays.
  void remove(std::uint64_t begin, std::uint64_t end) noexcept {
    for (unsigned i = 0; i < kEntries; ++i) {
      while (!remove_from(i, begin, end)) {
      }
    }
  }

  /// Takes out the range that begins at `begin`; {0, 0} when there is none.
  Range take(std::uint64_t begin) noexcept {
    for (unsigned i = 0; i < kEntries; ++i) {
      std::uint64_t packed = entry(i).load(std::memory_order_relaxed);
      if (packed == 0 || unpack(packed).begin != begin) continue;
      if (entry(i).compare_exchange_strong(packed, 0, std::memory_order_relaxed)) return unpack(packed);
    }
    return {0, 0};
  }

 private:
  std::atomic_ref<std::uint64_t> entry(unsigned i) const noexcept {
    return std::atomic_ref<std::uint64_t>(const_cast<std::uint64_t&>(entries[i]));
  }

  static std::uint64_t pack(std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t pages = end > begin ? (page_up(end) - page_down(begin)) / kPageBytes : 0;
    if (pages == 0 || pages >> kCountBits != 0) return 0;
    return (begin / kPageBytes) << kCountBits | pages;
  }

  static Range unpack(std::uint64_t packed) noexcept {
    const std::uint64_t begin = (packed >> kCountBits) * kPageBytes;
    return {begin, begin + (packed & ((1ULL << kCountBits) - 1)) * kPageBytes};
  }

  /// False when another thread changed the entry meanwhile.
  bool remove_from(unsigned i, std::uint64_t begin, std::uint64_t end) noexcept {
    std::uint64_t packed = entry(i).load(std::memory_order_relaxed);
    const Range range = unpack(packed);
    if (packed == 0 || range.end <= begin || range.begin >= end) return true;
    const std::uint64_t left = pack(range.begin, begin);
    const std::uint64_t right = pack(end, range.end);
    // With two pieces left the right one gets an entry first: a kill in between leaves too much noted only where it
    // overlaps.
    if (left != 0 && right != 0) add(end, range.end);
    if (entry(i).compare_exchange_strong(packed, left != 0 ? left : right, std::memory_order_relaxed)) return true;
    if (left != 0 && right != 0) take(end);
    return false;
  }
};

}  // namespace coracle::internals::pvas
