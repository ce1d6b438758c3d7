// UringFiles: files that the kernel keeps open for a ring ("registered files"), so that requests need not look them up
// and count their users each time.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::internals {

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

}  // namespace coracle::internals
