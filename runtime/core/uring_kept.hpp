// UringFiles and UringMemory: what the kernel keeps for a ring ("registered files" and "registered buffers"), so that
// it need not be looked up for each request.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::internals {

/// Files that the kernel keeps open for a ring, so that requests need not look them up and count their users each time.
/// Of one ring, and used by its thread.
class UringFiles {
 public:
  static constexpr int kNone = -1;

  /// `fd` must stay open until remove() or give_up(). False where the kernel has no registered files to give, or too
  /// many are there.
  bool add(io_uring& ring, int fd);
  /// Its place may go to another file: no entry that names it may be left in the ring. Older kernels may close the
  /// file as late as a second after.
  void remove(io_uring& ring, int fd) noexcept;
  /// As remove(), but its place stays as it is, for entries that name it, until the ring ends.
  void give_up(int fd) noexcept;
  /// The index of the registered file, or kNone: not added.
  int find(int fd) const noexcept {
    const auto at = static_cast<std::size_t>(fd);
    return at < indices_.size() ? indices_[at] : kNone;
  }

 private:
  bool make_table(io_uring& ring) noexcept;

  bool table_made_ = false;
  bool table_refused_ = false;
  std::uint64_t taken_ = 0;   // a bit for each index
  std::vector<int> indices_;  // by descriptor
};

/// Memory that the kernel keeps pinned for a ring, so that transfers from and to it need not look up its pages each
/// time: a microsecond for each 16 KiB or so, by the CPU that would feed the device. Of one ring, and used by its
/// thread. Memory is pinned in pieces, each when it is first used.
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
