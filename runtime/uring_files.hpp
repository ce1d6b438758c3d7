// UringFiles: files that the kernel keeps open for a ring ("registered files"), so that requests need not look them up
// and count their users each time.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <vector>

namespace coracle {

/// Of one ring, and used by its thread.
class UringFiles {
 public:
  static constexpr int kNone = -1;

  /// `fd` must stay open until remove(). False where the kernel has no registered files to give, or too many are there.
  bool add(io_uring& ring, int fd);
  /// Requests that are under way end as they would.
  void remove(io_uring& ring, int fd) noexcept;
  /// The index of the registered file, or kNone: not added.
  int find(int fd) const noexcept {
    const auto at = static_cast<std::size_t>(fd);
    return at < indices_.size() ? indices_[at] : kNone;
  }

 private:
  bool make_table(io_uring& ring) noexcept;

  bool table_made_ = false;
  bool table_refused_ = false;
  std::vector<int> indices_;  // by descriptor
  std::vector<int> free_;     // indices
};

}  // namespace coracle
