// Sorts records that fit the processor's caches: their keys' prefixes by radix, and only then the records themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {

class BlockSorter {
 public:
  explicit BlockSorter(RecordShape shape) noexcept : shape_(shape) {}

  /// In place; records with equal keys stay in their order. Takes memory of the size of `records` and 32 bytes for each
  /// of them, and keeps it. At most 2^32 - 1 records.
  void sort(std::span<std::byte> records);

 private:
  struct Entry {
    std::uint64_t prefix;
    std::uint32_t index;
  };
  void sort_by_prefix();
  void sort_equal_prefixes(const std::byte* records);

  RecordShape shape_;
  std::vector<Entry> entries_;
  std::vector<Entry> other_;
  std::vector<std::byte> sorted_;
};

}  // namespace coracle::oocsort
