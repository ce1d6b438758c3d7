// What a call's arrays say of its blocks.
#include "interfaces/mpi/core/collectives/block_list.hpp"

#include <algorithm>

#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::collectives {
namespace {

void check_arrays(std::uint32_t number, const Numbers& counts, const Numbers& displacements, const BlockNames& names) {
  if (number == 0) return;
  if (counts.is_null()) raise(ErrorClass::arg, "{} is null: it has a count for each of {}", names.counts, number);
  if (displacements.is_null())
    raise(ErrorClass::arg, "{} is null: it has a displacement for each of {}", names.displacements, number);
}

Count bytes_displaced(Count displacement, Count extent, const char* what, std::uint32_t place) {
  Count bytes = 0;
  if (__builtin_mul_overflow(displacement, extent, &bytes)) [[unlikely]]
    raise(ErrorClass::arg, "{}[{}] is {}, which leads out of any memory", what, place, displacement);
  return bytes;
}

/// Of a block of at least one byte: displacements are addresses then.
void check_from_bottom(std::size_t place, Count displacement, const Datatype& datatype) {
  const Count low = datatype.layout().footprint(1).low;
  if (displacement >= kFirstPage - low) return;
  raise(ErrorClass::buffer,
        "the buffer is MPI_BOTTOM (or null), and block {} lies {} bytes from there: give the buffer's address, or "
        "displacements from MPI_Get_address",
        place, displacement);
}

}  // namespace

template <class Byte>
BlockList<Byte>::BlockList(Buffer buffer, std::uint32_t number, Numbers counts, Numbers displacements,
                           Datatype* datatype, const BlockNames& names) {
  check_arrays(number, counts, displacements, names);
  const Datatype& checked_type = checked(datatype);
  datatypes_.emplace_back(datatype);
  each_.reserve(number);
  for (std::uint32_t place = 0; place < number; ++place) {
    const Count count = checked_count(counts[place], names.counts, place);
    // Of an empty block the displacement does not count, and may be anything.
    const Count extent = count == 0 ? 0 : checked_type.extent();
    add(buffer, bytes_displaced(displacements[place], extent, names.displacements, place), count, checked_type);
  }
}

template <class Byte>
BlockList<Byte>::BlockList(Buffer buffer, std::uint32_t number, Numbers counts, Numbers displacements,
                           std::span<Datatype* const> datatypes, const BlockNames& names) {
  check_arrays(number, counts, displacements, names);
  if (datatypes.size() < number)
    raise(ErrorClass::arg, "{} datatypes are given for {} blocks", datatypes.size(), number);
  each_.reserve(number);
  datatypes_.reserve(number);
  for (std::uint32_t place = 0; place < number; ++place) {
    const Count count = checked_count(counts[place], names.counts, place);
    const Datatype& datatype = checked(datatypes[place]);
    datatypes_.emplace_back(datatypes[place]);
    add(buffer, displacements[place], count, datatype);
  }
}

template <class Byte>
void BlockList<Byte>::add(Buffer buffer, Count displacement, Count count, const Datatype& datatype) {
  const bool empty = count == 0 || datatype.size() == 0;
  if (buffer == nullptr && !empty) check_from_bottom(each_.size(), displacement, datatype);
  const Buffer begin = empty ? buffer : displaced(buffer, displacement);
  each_.push_back(Scattered{begin, datatype.layout(), empty ? 0 : static_cast<std::uint64_t>(count)});
  plain_ = plain_ && (empty || datatype.is_contiguous());
}

template <class Byte>
const std::byte* BlockList<Byte>::begin_of(std::uint32_t place) const noexcept {
  return static_cast<const std::byte*>(each_[place].origin) + each_[place].layout.first_byte();
}

template <class Byte>
std::span<Byte> BlockList<Byte>::span() const noexcept {
  const std::byte* low = nullptr;
  const std::byte* high = nullptr;
  for (std::uint32_t place = 0; place < number(); ++place) {
    if (bytes(place) == 0) continue;
    if (low == nullptr || begin_of(place) < low) low = begin_of(place);
    high = std::max(high, begin_of(place) + bytes(place));
  }
  return {const_cast<Byte*>(low), static_cast<std::size_t>(high - low)};
}

template <class Byte>
std::vector<std::size_t> BlockList<Byte>::sizes() const {
  std::vector<std::size_t> sizes(each_.size());
  for (std::uint32_t place = 0; place < number(); ++place) sizes[place] = bytes(place);
  return sizes;
}

template <class Byte>
Blocks BlockList<Byte>::row() const {
  return {sizes(), 1};
}

/// In a row where they lie so, which goes some ways more.
template <class Byte>
Blocks BlockList<Byte>::blocks() const {
  const std::byte* const low = span().data();
  std::vector<std::size_t> begins(each_.size());
  std::size_t end = 0;
  bool in_a_row = true;
  for (std::uint32_t place = 0; place < number(); ++place) {
    if (bytes(place) == 0) continue;
    begins[place] = static_cast<std::size_t>(begin_of(place) - low);
    in_a_row = in_a_row && begins[place] == end;
    end += bytes(place);
  }
  return in_a_row ? row() : Blocks::placed(sizes(), std::move(begins));
}

template class BlockList<const std::byte>;
template class BlockList<std::byte>;

void pack_blocks(const SentBlocks& blocks, const Blocks& row, std::span<std::byte> room) {
  for (std::uint32_t place = 0; place < row.count(); ++place) read_part(blocks.memory(place), 0, row.of(room, place));
}

void pack_block(const ReceivedBlocks& blocks, const Blocks& row, std::uint32_t place, std::span<std::byte> room) {
  read_part(source_in(blocks.memory(place)), 0, row.of(room, place));
}

void unpack_blocks(std::span<const std::byte> packed, const Blocks& row, const ReceivedBlocks& blocks) {
  for (std::uint32_t place = 0; place < row.count(); ++place)
    write_part(blocks.memory(place), 0, row.of(packed, place));
}

}  // namespace coracle::mpi::collectives
