// ExposedMemory: memory outside the segment that a rank has exposed, as all ranks of its node see it; and the table of
// it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// See Rank::expose.
///
/// A place in the table is used again and again. How many times goes with what names it, the segment of a
/// RemoteAddress, so that one who still has an old name does not reach what is exposed there now.
struct ExposedMemory {
  static constexpr unsigned kTimesShift = 48;
  static constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kTimesShift) - 1;

  std::atomic<std::uint64_t> address{0};
  /// Bytes (0: free), and above them how many times this place has been free again.
  std::atomic<std::uint64_t> word{0};

  static constexpr std::uint32_t segment(std::uint32_t index, std::uint64_t times) noexcept {
    return (1 + index) | static_cast<std::uint32_t>(times & 0xffff) << kIndexBits;
  }
  /// Wraps around for what is no exposed memory's.
  static constexpr std::uint32_t index_of(std::uint32_t segment) noexcept { return (segment & kIndexMask) - 1; }
  static constexpr std::uint32_t times_of(std::uint32_t segment) noexcept { return segment >> kIndexBits; }

  /// With 16 bits for the times there is one left, which is the GPUs' (Accelerator::kSegment).
  static constexpr unsigned kIndexBits = 15;

 private:
  static constexpr std::uint32_t kIndexMask = (1U << kIndexBits) - 1;
};

/// All that one rank has exposed. The first part lies in the rank's block; others are made in its segment when they are
/// needed, each as large as all before it, and stay.
struct ExposedTable {
  static constexpr std::uint32_t kFirst = 128;
  static constexpr std::uint32_t kParts = 8;
  /// The last number names none: see ExposedMemory::index_of.
  static constexpr std::uint32_t kMost = (kFirst << kParts) - 1;
  static_assert(kMost == (1U << ExposedMemory::kIndexBits) - 1);

  /// Which of `parts` holds a place behind the first ones.
  static constexpr std::uint32_t part_of(std::uint32_t index) noexcept {
    return static_cast<std::uint32_t>(std::bit_width(index / kFirst)) - 1;
  }
  static constexpr std::uint32_t first_of(std::uint32_t part) noexcept { return kFirst << part; }

  /// Null where there is none (yet). `segment`: the rank's, as this process sees it.
  ExposedMemory* find(std::uint32_t index, std::byte* segment) noexcept {
    if (index < kFirst) return &first[index];
    if (index >= kMost) return nullptr;
    const std::uint32_t part = part_of(index);
    // acquire: pairs with the release store that has made the part.
    const std::uint64_t offset = parts[part].load(std::memory_order_acquire);
    if (offset == 0) return nullptr;
    return reinterpret_cast<ExposedMemory*>(segment + offset) + (index - first_of(part));
  }

  std::array<ExposedMemory, kFirst> first;
  /// Offsets in the segment, which begins with what is not given out; 0: not made.
  std::array<std::atomic<std::uint64_t>, kParts> parts{};
};

}  // namespace coracle::internals
