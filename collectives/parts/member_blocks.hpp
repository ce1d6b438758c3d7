// MemberBlocks: one block of a member's memory for each member of a team, each a run of bytes or scattered by a layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "collectives/data/blocks.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/messages/message_memory.hpp"

namespace coracle::internals {

/// Refers to the caller's list. Local members of one address space read each other's by address: it counts no
/// references and holds no pointers to code.
template <class Byte>
class MemberBlocks {
 public:
  using Memory = MessageMemory<Byte>;
  using Scattered = typename Memory::Scattered;

  /// Of nobody.
  MemberBlocks() = default;
  /// One for each member.
  explicit MemberBlocks(std::span<const Memory> each) noexcept
      : members_(static_cast<std::uint32_t>(each.size())), each_(each.data()) {}
  /// `first` is member 0's; each of the others lies count * extent behind the one before.
  MemberBlocks(std::uint32_t members, const Scattered& first) noexcept : members_(members), first_(&first) {}

  std::uint32_t members() const noexcept { return members_; }
  /// Whether all are of the same form, each behind the one before.
  bool alike() const noexcept { return first_ != nullptr; }
  /// Of such.
  const Scattered& first() const noexcept { return *first_; }
  Memory of(std::uint32_t member) const { return first_ == nullptr ? each_[member] : of_alike(member); }
  std::size_t bytes_of(std::uint32_t member) const {
    return first_ == nullptr ? each_[member].bytes() : first_->layout.size() * first_->count;
  }
  /// Of more than 2^48 bytes, which no memory has, it counts so many, so that the sum stays a number.
  std::size_t bytes_of_all_but(std::uint32_t left_out) const {
    constexpr std::size_t kBytesMax = std::size_t{1} << 48;
    std::size_t bytes = 0;
    for (std::uint32_t member = 0; member < members_; ++member)
      if (member != left_out) bytes += std::min(bytes_of(member), kBytesMax);
    return bytes;
  }

 private:
  Memory of_alike(std::uint32_t member) const {
    const auto distance = static_cast<std::int64_t>(member * first_->count) * first_->layout.extent();
    auto* const origin = static_cast<Byte*>(first_->origin) + distance;
    return Memory(Scattered{origin, first_->layout, first_->count});
  }

  std::uint32_t members_ = 0;
  const Memory* each_ = nullptr;
  const Scattered* first_ = nullptr;  // null: one for each
};

using SourceBlocks = MemberBlocks<const std::byte>;
using TargetBlocks = MemberBlocks<std::byte>;

/// Asserts that a block is not larger than any memory.
template <class Scattered>
void check_block_fits(std::uint32_t member, const Scattered& block) {
  std::uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(block.layout.size(), block.count, &bytes) && bytes >> 48 == 0;
  CORACLE_ASSERT(fits, "the block of member {} has {} repetitions of {} bytes, more than any memory", member,
                 block.count, block.layout.size());
}

/// A list for MemberBlocks.
template <class Byte>
std::vector<MessageMemory<Byte>> listed(std::span<const typename MessageMemory<Byte>::Scattered> each) {
  std::vector<MessageMemory<Byte>> list;
  list.reserve(each.size());
  for (std::uint32_t member = 0; member < each.size(); ++member) {
    check_block_fits(member, each[member]);
    list.emplace_back(each[member]);
  }
  return list;
}
template <class Byte>
std::vector<MessageMemory<Byte>> listed(std::span<Byte> buffer, const Blocks& blocks) {
  std::vector<MessageMemory<Byte>> list;
  list.reserve(blocks.count());
  for (std::uint32_t place = 0; place < blocks.count(); ++place) list.emplace_back(blocks.of(buffer, place));
  return list;
}

}  // namespace coracle::internals
