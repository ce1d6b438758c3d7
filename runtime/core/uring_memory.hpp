// UringMemory: memory that the kernel keeps pinned for a ring ("registered buffers"), so that transfers from and to it
// need not look up its pages each time: a microsecond for each 16 KiB or so, by the CPU that would feed the device.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <vector>

namespace coracle::internals {

/// Of one ring, and used by its thread. Memory is pinned in pieces, each when it is first used.
class UringMemory {
 public:
  static constexpr int kNone = -1;

  /// Must stay mapped as it is until remove(). False where the kernel has no registered buffers to give.
  bool add(io_uring& ring, std::byte* begin, std::size_t bytes);
  /// Transfers that are under way end as they would.
  void remove(io_uring& ring, const std::byte* begin) noexcept;
  /// The index of the registered buffer that holds these bytes, or kNone: not added, in two pieces, or refused (too
  /// much locked memory).
  int find(io_uring& ring, const void* address, std::size_t bytes) noexcept;

 private:
  enum class Piece : unsigned char { unused, pinned, refused };
  struct Area {
    std::byte* begin;
    std::size_t bytes;
    std::size_t piece_bytes;
    unsigned first;  // index of its first piece
    std::vector<Piece> pieces;
  };
  bool make_table(io_uring& ring) noexcept;
  unsigned room_for(unsigned pieces) const noexcept;
  bool pin(io_uring& ring, Area& area, std::size_t piece) noexcept;

  bool table_made_ = false;
  bool table_refused_ = false;
  std::vector<Area> areas_;  // by their indices
};

}  // namespace coracle::internals
