// The reference for layouts: MPI's typemap written out, one entry per byte, by rules as plain as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace coracle::internals::test {

struct Typemap {
  std::vector<std::int64_t> bytes;  ///< Where each byte lies, in packed order.
  std::vector<std::int64_t> lower_markers;
  std::vector<std::int64_t> upper_markers;

  std::int64_t lower_bound() const;
  std::int64_t upper_bound() const;
  std::int64_t extent() const { return upper_bound() - lower_bound(); }
  std::int64_t true_lower_bound() const;
  std::int64_t true_upper_bound() const;
  /// Blocks of bytes that follow each other in memory and in packed order.
  std::uint64_t block_count() const;
  /// Whether a byte of memory occurs twice.
  bool overlaps() const;

  /// Appends `other`, moved by `displacement`.
  void append(const Typemap& other, std::int64_t displacement);
  /// `count` of these, one extent apart.
  Typemap repeated(std::int64_t count) const;
};

Typemap plain_bytes(std::int64_t count);

}  // namespace coracle::internals::test
