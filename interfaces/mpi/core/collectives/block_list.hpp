// BlockList: the blocks of a collective of the v and w kinds: one for each process, each with a count and a place of
// its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/data/blocks.hpp"
#include "interfaces/mpi/core/collectives/values.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi::collectives {

using internals::Blocks;

/// What a call says of its blocks, with MPI's names of its arguments for messages.
struct BlockNames {
  const char* counts;
  const char* displacements;
};

/// In the program's memory. Keeps the datatypes.
template <class Byte>
class BlockList {
 public:
  using Buffer = typename Values<Byte>::Buffer;
  using Scattered = typename Values<Byte>::Scattered;

  /// None: of a process whose argument does not count.
  BlockList() = default;
  /// All of one datatype, in whose extents displacements count. Throws MpiError (count, arg, type, buffer).
  BlockList(Buffer buffer, std::uint32_t number, Numbers counts, Numbers displacements, Datatype* datatype,
            const BlockNames& names);
  /// Each of its own; displacements in bytes.
  BlockList(Buffer buffer, std::uint32_t number, Numbers counts, Numbers displacements,
            std::span<Datatype* const> datatypes, const BlockNames& names);

  std::span<const Scattered> scattered() const noexcept { return each_; }
  std::size_t bytes(std::uint32_t place) const noexcept { return each_[place].layout.size() * each_[place].count; }
  MessageMemory<Byte> memory(std::uint32_t place) const { return MessageMemory<Byte>(each_[place]); }
  /// Whether each is one run of bytes.
  bool is_plain() const noexcept { return plain_; }
  /// Of such: the memory from the first to the last byte of all, and where they lie in it.
  std::span<Byte> span() const noexcept;
  Blocks blocks() const;
  /// Of any: as they lie one after the other, when packed.
  Blocks row() const;

 private:
  void add(Buffer buffer, Count displacement, Count count, const Datatype& datatype);
  const std::byte* begin_of(std::uint32_t place) const noexcept;
  std::vector<std::size_t> sizes() const;
  std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(each_.size()); }

  std::vector<Scattered> each_;
  std::vector<Ref<Datatype>> datatypes_;
  bool plain_ = true;
};

extern template class BlockList<const std::byte>;
extern template class BlockList<std::byte>;

using SentBlocks = BlockList<const std::byte>;
using ReceivedBlocks = BlockList<std::byte>;

/// All blocks, or that of one place, to or from a row.
void pack_blocks(const SentBlocks& blocks, const Blocks& row, std::span<std::byte> room);
void pack_block(const ReceivedBlocks& blocks, const Blocks& row, std::uint32_t place, std::span<std::byte> room);
void unpack_blocks(std::span<const std::byte> packed, const Blocks& row, const ReceivedBlocks& blocks);

}  // namespace coracle::mpi::collectives
