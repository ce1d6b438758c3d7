// PlainBlocks: the blocks of a call of the v or w kind where each is a run of bytes, as they mostly are among few
// processes: found without allocating, as a BlockList does, which takes all that there can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/values.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi::collectives {

/// Refers to nothing of the call's but the buffer.
template <class Byte>
class PlainBlocks {
 public:
  using Buffer = typename Values<Byte>::Buffer;
  using Memory = MessageMemory<Byte>;
  static constexpr std::uint32_t kBlocksMax = 32;

  /// All of one datatype, in whose extents displacements count. False where there is anything else to it, an error
  /// among them: a BlockList tells. Once.
  bool find(Buffer buffer, std::uint32_t number, const Numbers& counts, const Numbers& displacements,
            const Datatype* datatype) noexcept {
    if (!may_be_plain(number, counts, displacements)) return false;
    for (std::uint32_t place = 0; place < number; ++place)
      if (!add(buffer, counts[place], displacements[place], datatype, true)) return false;
    return true;
  }
  /// Each of its own; displacements in bytes.
  bool find(Buffer buffer, std::uint32_t number, const Numbers& counts, const Numbers& displacements,
            std::span<Datatype* const> datatypes) noexcept {
    if (!may_be_plain(number, counts, displacements) || datatypes.size() < number) return false;
    for (std::uint32_t place = 0; place < number; ++place)
      if (!add(buffer, counts[place], displacements[place], datatypes[place], false)) return false;
    return true;
  }

  std::span<const Memory> list() const noexcept { return {at(0), number_}; }
  const Memory& operator[](std::uint32_t place) const noexcept { return *at(place); }

 private:
  static bool may_be_plain(std::uint32_t number, const Numbers& counts, const Numbers& displacements) noexcept {
    return number <= kBlocksMax && !counts.is_null() && !displacements.is_null();
  }
  bool add(Buffer buffer, Count count, Count displacement, const Datatype* datatype, bool in_extents) noexcept {
    if (datatype == nullptr || datatype->plain_bytes() == 0 || static_cast<std::uint64_t>(count) > INT32_MAX)
      return false;
    // Without gaps, so that the extent is the size.
    const auto unit = in_extents ? static_cast<Count>(datatype->plain_bytes()) : Count{1};
    Count distance = 0;
    if (__builtin_mul_overflow(displacement, unit, &distance)) return false;
    // Of an empty block the displacement does not count.
    auto* const begin = static_cast<Byte*>(count == 0 ? buffer : displaced(buffer, distance));
    if (count > 0 && reinterpret_cast<std::uintptr_t>(begin) < std::uintptr_t{kFirstPage}) return false;
    const std::size_t bytes = static_cast<std::size_t>(count) * datatype->plain_bytes();
    std::construct_at(at(number_++), std::span<Byte>(begin, bytes));
    return true;
  }
  Memory* at(std::uint32_t place) noexcept { return reinterpret_cast<Memory*>(memory_) + place; }
  const Memory* at(std::uint32_t place) const noexcept { return reinterpret_cast<const Memory*>(memory_) + place; }

  std::uint32_t number_ = 0;
  alignas(Memory) std::byte memory_[kBlocksMax * sizeof(Memory)];  // not made where there are fewer
};

/// Where a run of bytes is all that a call's (buffer, count, datatype) says.
inline std::optional<std::span<const std::byte>> plain_source(const void* buffer, Count count,
                                                              const Datatype* datatype) noexcept {
  if (datatype == nullptr || !datatype->is_plain_at(buffer, count)) return {};
  return source_of(buffer, count, datatype).span();
}
inline std::optional<std::span<std::byte>> plain_target(void* buffer, Count count, const Datatype* datatype) noexcept {
  if (datatype == nullptr || !datatype->is_plain_at(buffer, count)) return {};
  return target_of(buffer, count, datatype).span();
}

}  // namespace coracle::mpi::collectives
