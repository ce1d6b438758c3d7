// Blocks: which part of a buffer belongs to which member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/byte_counts.hpp"

namespace coracle::internals {

/// One block for each of a number of places, one after the other unless it is said where each lies. Sizes in bytes.
class Blocks {
 public:
  /// All of the same size.
  Blocks(std::uint32_t count, std::size_t block_bytes) : count_(count), block_bytes_(block_bytes) {
    CORACLE_ASSERT(byte_count(count, block_bytes) <= kObjectBytesMax,
                   "{} blocks of {} bytes, which is more than any memory", count, block_bytes);
  }
  /// `counts`: elements of each.
  Blocks(std::span<const std::size_t> counts, std::size_t element_bytes);
  /// Blocks of so many bytes that begin at these bytes of the buffer, in any order, with gaps or without.
  static Blocks placed(std::span<const std::size_t> bytes, std::vector<std::size_t> begins);
  /// `elements` divided as evenly as can be.
  static Blocks divide(std::uint32_t count, std::size_t elements, std::size_t element_bytes);

  std::uint32_t count() const noexcept { return count_; }
  std::size_t offset(std::uint32_t place) const noexcept {
    return offsets_.empty() ? place * block_bytes_ : offsets_[place];
  }
  /// Of the blocks `first` ... `last` - 1.
  std::size_t bytes(std::uint32_t first, std::uint32_t last) const noexcept { return offset(last) - offset(first); }
  std::size_t bytes(std::uint32_t place) const noexcept { return bytes(place, place + 1); }
  std::size_t total() const noexcept { return offset(count_); }
  /// Whether they were said to be all of the same size.
  bool alike() const noexcept { return offsets_.empty(); }
  /// Whether each begins where the one before ends. If not, offset() is that in such a row all the same, and only of()
  /// and reach() know where blocks lie.
  bool in_a_row() const noexcept { return begins_.empty(); }
  /// Bytes of a buffer up to the end of its last block.
  std::size_t reach() const noexcept { return in_a_row() ? total() : reach_of_placed(); }
  /// Of `number` blocks from `first` on, going on at 0 after the last.
  std::size_t bytes_around(std::uint32_t first, std::uint32_t number) const noexcept {
    return first + number <= count_ ? bytes(first, first + number)
                                    : bytes(first, count_) + bytes(0, first + number - count_);
  }
  template <class Byte>
  std::span<Byte> of(std::span<Byte> buffer, std::uint32_t place) const noexcept {
    return buffer.subspan(in_a_row() ? offset(place) : begins_[place], bytes(place));
  }

 private:
  std::size_t reach_of_placed() const noexcept;

  std::uint32_t count_;
  std::size_t block_bytes_ = 0;
  std::vector<std::size_t> offsets_;  // empty: all of the same size
  std::vector<std::size_t> begins_;   // empty: in a row
};

/// `target` is as long, or longer; it may be the same memory.
inline void copy_bytes(std::span<const std::byte> source, std::span<std::byte> target) noexcept {
  if (!source.empty() && source.data() != target.data()) std::memmove(target.data(), source.data(), source.size());
}

/// Arguments of a collective must fit each other: `blocks` the team and the buffer,
inline void check_blocks(const char* what, const Blocks& blocks, std::uint32_t members, std::size_t buffer_bytes) {
  CORACLE_ASSERT(blocks.count() == members, "{}: {} counts for {} members", what, blocks.count(), members);
  CORACLE_ASSERT(blocks.reach() == buffer_bytes, "{}: a buffer of {} bytes for blocks of {} bytes in all", what,
                 buffer_bytes, blocks.reach());
}
/// and a member's block its own buffer.
inline void check_block(const char* what, const Blocks& blocks, std::uint32_t place, std::size_t buffer_bytes) {
  CORACLE_ASSERT(blocks.bytes(place) == buffer_bytes, "{}: a buffer of {} bytes for a block of {} bytes", what,
                 buffer_bytes, blocks.bytes(place));
}

}  // namespace coracle::internals
