// Layout: where the bytes of a value lie that is scattered in memory, such as a column of a matrix, the halo of a grid,
// or some members of each element. Built by MPI's rules of derived datatypes, and kept in a canonical form of few
// loops. And copies between such memory and packed bytes, and straight from one layout to another without anything
// between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/layout/node.hpp"

namespace coracle::internals {

struct LayoutField;

/// How the dimensions of an array lie in memory.
enum class Order {
  c,        ///< The last one is the fastest.
  fortran,  ///< The first one is the fastest.
};

/// What it costs to go through a layout once; for models of costs. Sums and extremes over all repetitions asked for.
struct LayoutShape {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;    ///< Runs of bytes in packed order; those that touch are one.
  std::uint64_t shortest = 0;  ///< Bytes of the shortest run.
  std::uint64_t longest = 0;
  std::uint64_t lines = 0;  ///< Estimate of the cache lines of 64 bytes touched.

  double block_bytes() const noexcept;     ///< Of the average run; 0 without any.
  double bytes_per_line() const noexcept;  ///< Of those touched: 64 where nothing is skipped; 0 without any.
};

/// Bytes from `low` up to `high`, relative to the origin.
struct Footprint {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// An immutable value, cheap to copy, that any threads may share. Other ranks of the same address space may use it by
/// reference while its owner keeps it (they must not copy it: the copies are counted in the owner's memory).
///
/// The *packed order* of its bytes is that in which the constructors name them. Lower bound and extent follow MPI 4.0,
/// section 5.1: the lower bound is that of the lowest byte and the upper bound that of the highest, unless resized() or
/// subarray() have set them, and then those set count, wherever the layout is used in others; the extent is their
/// distance, with nothing added for alignment. Repetitions of a layout are one extent apart. Counts and lengths of 0
/// are allowed, and so are negative strides, displacements and extents, and bytes that lie over each other (in what is
/// read).
///
/// Constructors throw Error (bad_input) when a count is negative, lists don't fit each other, a subarray leaves its
/// array, or bytes would lie 2^63 or more apart.
class Layout {
 public:
  /// No bytes.
  Layout() = default;
  static Layout bytes(std::int64_t count);
  /// One value of a type, the bytes between its members included.
  template <class T>
  static Layout of() {
    static_assert(std::is_trivially_copyable_v<T>, "only values that may be copied as bytes have a layout");
    return bytes(sizeof(T));
  }
  /// The fields one after the other.
  static Layout structure(const std::vector<LayoutField>& fields);

  /// `count` of these, one extent apart.
  Layout contiguous(std::int64_t count) const;
  /// `count` blocks of `block_length` of these; blocks begin `stride` extents apart.
  Layout vector(std::int64_t count, std::int64_t block_length, std::int64_t stride) const;
  Layout hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes) const;
  /// A block of lengths[i] of these at displacements[i] extents.
  Layout indexed(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> displacements) const;
  Layout hindexed(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> displacements_bytes) const;
  /// A block of `length` of these at each displacement.
  Layout indexed_block(std::int64_t length, std::vector<std::int64_t> displacements) const;
  Layout hindexed_block(std::int64_t length, std::vector<std::int64_t> displacements_bytes) const;
  /// Of an array of these with `sizes`, the part with `subsizes` that begins at `starts` (from 0). Its extent is that
  /// of the whole array.
  Layout subarray(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& subsizes,
                  const std::vector<std::int64_t>& starts, Order order = Order::c) const;
  /// The same bytes with another lower bound and extent.
  Layout resized(std::int64_t lower_bound, std::int64_t extent) const;

  std::uint64_t size() const noexcept { return node_ ? node_->size : 0; }
  std::int64_t lower_bound() const noexcept { return lower_; }
  std::int64_t extent() const noexcept { return upper_ - lower_; }
  std::int64_t true_lower_bound() const noexcept { return node_ ? first_ + node_->low : 0; }
  std::int64_t true_extent() const noexcept { return node_ ? node_->high - node_->low : 0; }
  /// Where the first byte of the packed order lies.
  std::int64_t first_byte() const noexcept { return first_; }
  /// Whether any number of repetitions is one run of bytes. (Where it begins, first_byte() tells.)
  bool is_contiguous() const noexcept;
  std::uint64_t block_count() const noexcept { return node_ ? node_->blocks : 0; }
  LayoutShape shape(std::uint64_t count = 1) const noexcept;
  /// Bytes of `count` repetitions, and between what bounds they lie. Throw Error (bad_input) beyond 2^63.
  std::uint64_t packed_bytes(std::uint64_t count) const;
  Footprint footprint(std::uint64_t count) const;

  /// Whether the form and the bounds are the same. Equal layouts have equal bytes; the reverse holds mostly.
  friend bool operator==(const Layout& first, const Layout& second) noexcept;
  /// The canonical form as text, for people: "8 x 24 B every 64 B".
  std::string describe() const;

  /// Bytes from which decode() makes an equal layout, in another address space too; about as many as its lists have
  /// entries.
  std::vector<std::byte> encode() const;
  /// Throws Error (bad_input) for bytes that are no layout: cut, continued, out of range, too deep. Needs memory in
  /// proportion to the input. What a peer sent must still be compared with the memory it may reach: see footprint().
  static Layout decode(std::span<const std::byte> bytes);

  /// For cursors; null without bytes. Lives as long as the layout.
  const layouts::LayoutNode* node() const noexcept { return node_.get(); }

 private:
  /// Lowest and highest place where a copy begins, of those that a constructor makes.
  struct DisplacementRange {
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  Layout(layouts::PlacedNode placed, const DisplacementRange& places, const Layout& element);
  Layout repeated(std::int64_t count, std::int64_t step) const;
  Layout blocks_at(const std::vector<std::int64_t>& lengths, std::vector<std::int64_t> places) const;
  Layout equal_blocks_at(std::int64_t length, std::vector<std::int64_t> places) const;
  bool is_void() const noexcept { return node_ == nullptr && !marked_; }
  void check_reach() const;

  layouts::NodePointer node_;
  std::int64_t first_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t upper_ = 0;
  bool marked_ = false;  // Bounds were set by resized() or subarray(): MPI's markers.
};

/// Of Layout::structure: `count` of `layout`, the first one `displacement_bytes` from the beginning.
struct LayoutField {
  std::int64_t count = 1;
  std::int64_t displacement_bytes = 0;
  Layout layout;
};

/// `count` repetitions of `layout` at `origin`, read from. The layout is referred to.
struct ScatteredSource {
  const void* origin;
  const Layout& layout;
  std::uint64_t count = 1;
};

/// The same, written to. No two bytes of it may lie over each other.
struct ScatteredTarget {
  void* origin;
  const Layout& layout;
  std::uint64_t count = 1;
};

// For all: footprint(count) must not throw, memory of the two sides must be apart, and a position behind the end is a
// programmer's mistake. They allocate nothing, throw nothing, and touch no byte outside of what is asked for: any
// threads or ranks may do parts of one copy at a time, that do not overlap.

/// Packs from byte `position` of the packed order on, as much as there is and `room` holds. Gives the bytes done.
std::uint64_t pack(const ScatteredSource& source, std::uint64_t position, std::span<std::byte> room);

/// Unpacks what belongs at byte `position` of the packed order and behind it; gives the bytes done, fewer than there
/// are in `packed` only at the end of the target.
std::uint64_t unpack(std::span<const std::byte> packed, std::uint64_t position, const ScatteredTarget& target);

/// Copies `bytes` from byte `position` of the packed order on, which both sides must have; their layouts may differ.
void copy(const ScatteredTarget& target, const ScatteredSource& source, std::uint64_t position, std::uint64_t bytes);

}  // namespace coracle::internals
