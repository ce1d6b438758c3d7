// Parts of different sizes that a member gives its local members in one contribution: their sizes, and then the parts
// one behind the other. So a reader, who does not know the sizes of others' parts, finds its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "collectives/node/local_collective.hpp"
#include "collectives/parts/member_blocks.hpp"

namespace coracle::internals {

/// Of a member of a team on one node, where members' indices are local indices. What fits goes in the contribution's
/// own cache line, with a byte for each size; else each part has an Entry.
class GivenParts {
 public:
  /// `parts`: one for each member; that of the giver itself, `own`, is left out.
  GivenParts(const SourceBlocks& parts, std::uint32_t own) noexcept;

  /// Of the contribution.
  std::size_t bytes() const noexcept { return bytes_; }
  /// As LocalCollective::try_give() and give().
  bool try_give(LocalCollective& local) const {
    return local.try_give_made(bytes_, [this](std::byte* room) { write(room); });
  }
  Task<> give(LocalCollective& local) const;
  /// As LocalCollective::try_hand(), of two members.
  bool try_hand(LocalCollective& local) const {
    return local.try_hand_made(bytes_, [this](std::byte* room) { write(room); });
  }
  /// Whether two members give each other what is a run of bytes.
  bool are_plain_of_two() const noexcept { return parts_.members() == 2 && !parts_.of(1 - own_).is_scattered(); }

  /// What of `given`, which is all that a member has given, is for `member` of so many.
  static std::span<const std::byte> part_of(std::span<const std::byte> given, std::uint32_t member,
                                            std::uint32_t members) noexcept {
    if (members == 2) return given;
    return given.size() <= Contribution::kInlineBytesMax ? inline_part(given, member, members)
                                                         : entered_part(given, member);
  }

 private:
  struct Entry {
    std::uint32_t begin;
    std::uint32_t bytes;
  };

  static std::span<const std::byte> inline_part(std::span<const std::byte> given, std::uint32_t member,
                                                std::uint32_t members) noexcept {
    std::size_t begin = members;
    for (std::uint32_t before = 0; before < member; ++before) begin += static_cast<std::size_t>(given[before]);
    return given.subspan(begin, static_cast<std::size_t>(given[member]));
  }
  static std::span<const std::byte> entered_part(std::span<const std::byte> given, std::uint32_t member) noexcept {
    Entry entry{};
    std::memcpy(&entry, given.data() + member * sizeof(Entry), sizeof entry);
    return given.subspan(entry.begin, entry.bytes);
  }
  void write(std::byte* room) const;

  const SourceBlocks& parts_;
  std::uint32_t own_;
  std::size_t bytes_;
};

}  // namespace coracle::internals
