#include "runtime/rank/exposed_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "runtime/core/error.hpp"

namespace coracle::internals {

void ExposedPlaces::make_part(std::uint32_t part) {
  const std::uint32_t count = ExposedTable::first_of(part);
  const std::uint64_t offset = heap_.allocate(count * sizeof(ExposedMemory));
  if (offset == SegmentHeap::kNone)
    throw Error(
        std::make_error_code(std::errc::no_buffer_space),
        fmt::format("{} pieces of memory are exposed, and the segment has no room for a table of more; start with a "
                    "larger one (`coracle run --segment`), or release some",
                    used_));
  std::uninitialized_value_construct_n(reinterpret_cast<ExposedMemory*>(segment_ + offset), count);
  // release: pairs with ExposedTable::find.
  table_.parts[part].store(offset, std::memory_order_release);
}

std::uint32_t ExposedPlaces::take_free() {
  if (!free_.empty()) {
    const std::uint32_t index = free_.front();
    free_.pop_front();
    return index;
  }
  if (used_ == ExposedTable::kMost)
    throw Error(
        std::make_error_code(std::errc::no_buffer_space),
        fmt::format("{} pieces of memory are exposed already, which is the most; release some, or allocate from the "
                    "segment",
                    used_));
  if (used_ >= ExposedTable::kFirst && used_ == ExposedTable::first_of(ExposedTable::part_of(used_)))
    make_part(ExposedTable::part_of(used_));
  return used_++;
}

std::uint32_t ExposedPlaces::add(std::uint64_t address, std::size_t bytes) {
  const std::uint32_t index = take_free();
  ExposedMemory& exposed = *table_.find(index, segment_);
  const std::uint64_t before = exposed.word.load(std::memory_order_relaxed);  // written by this rank only
  exposed.address.store(address, std::memory_order_relaxed);
  // release: pairs with the load in AddressMap::check.
  exposed.word.store(before | std::max<std::size_t>(bytes, 1), std::memory_order_release);
  return ExposedMemory::segment(index, before >> ExposedMemory::kTimesShift);
}

void ExposedPlaces::remove(std::uint32_t segment) noexcept {
  const std::uint32_t index = ExposedMemory::index_of(segment);
  const std::uint64_t times = ExposedMemory::times_of(segment) + 1;
  // seq_cst: whoever marks its access after the look that follows (ExposedAccess) finds the memory withdrawn.
  table_.find(index, segment_)->word.store(times << ExposedMemory::kTimesShift, std::memory_order_seq_cst);
  free_.push_back(index);
}

}  // namespace coracle::internals
