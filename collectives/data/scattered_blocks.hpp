// ScatteredBlocks: which scattered memory belongs to which member, in exchanges by layouts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "runtime/core/assert.hpp"
#include "runtime/layout/copy.hpp"

namespace coracle::internals {

/// One block for each member: a ScatteredSource or a ScatteredTarget. Local members of one address space read each
/// other's by address: it counts no references and holds no pointers to code.
template <class Scattered>
class ScatteredBlocks {
 public:
  /// `first` is member 0's; each of the others lies count * extent behind the one before.
  ScatteredBlocks(std::uint32_t members, const Scattered& first) : members_(members), first_(&first), alike_(true) {}
  /// One for each member.
  explicit ScatteredBlocks(std::span<const Scattered> each)
      : members_(static_cast<std::uint32_t>(each.size())), first_(each.data()), alike_(false) {}

  std::uint32_t members() const noexcept { return members_; }
  /// Whether all are of the same form, each behind the one before: then this is the first.
  bool alike() const noexcept { return alike_; }
  const Scattered& first() const noexcept { return *first_; }

  Scattered of(std::uint32_t member) const noexcept {
    if (!alike_) return first_[member];
    const auto distance = static_cast<std::int64_t>(member * first_->count) * first_->layout.extent();
    return {static_cast<Byte*>(first_->origin) + distance, first_->layout, first_->count};
  }
  std::size_t bytes_of(std::uint32_t member) const {
    const Scattered& block = alike_ ? *first_ : first_[member];
    std::uint64_t bytes = 0;
    const bool fits = !__builtin_mul_overflow(block.layout.size(), block.count, &bytes) && bytes >> 48 == 0;
    CORACLE_ASSERT(fits, "the block of member {} has {} repetitions of {} bytes, more than any memory", member,
                   block.count, block.layout.size());
    return bytes;
  }

 private:
  using Byte = std::conditional_t<std::is_same_v<Scattered, ScatteredSource>, const std::byte, std::byte>;

  std::uint32_t members_;
  const Scattered* first_;
  bool alike_;
};

using SourceBlocks = ScatteredBlocks<ScatteredSource>;
using TargetBlocks = ScatteredBlocks<ScatteredTarget>;

}  // namespace coracle::internals
