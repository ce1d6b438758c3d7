#include "runtime/uring_files.hpp"

#include <algorithm>
#include <utility>

namespace coracle {
namespace {

constexpr int kTableSize = 64;

}  // namespace

bool UringFiles::make_table(io_uring& ring) noexcept {
  if (!table_made_ && !table_refused_) {
    table_made_ = io_uring_register_files_sparse(&ring, kTableSize) == 0;  // Linux 5.19
    table_refused_ = !table_made_;
    if (table_made_)
      for (int index = kTableSize; index > 0; --index) free_.push_back(index - 1);
  }
  return table_made_;
}

bool UringFiles::add(io_uring& ring, int fd) {
  if (fd < 0) return false;
  indices_.resize(std::max(indices_.size(), static_cast<std::size_t>(fd) + 1), kNone);
  if (!make_table(ring) || find(fd) != kNone || free_.empty()) return false;
  const int index = free_.back();
  if (io_uring_register_files_update(&ring, static_cast<unsigned>(index), &fd, 1) != 1) return false;
  free_.pop_back();
  indices_[static_cast<std::size_t>(fd)] = index;
  return true;
}

void UringFiles::remove(io_uring& ring, int fd) noexcept {
  if (fd < 0 || find(fd) == kNone) return;
  const int index = std::exchange(indices_[static_cast<std::size_t>(fd)], kNone);
  const int nothing = -1;
  io_uring_register_files_update(&ring, static_cast<unsigned>(index), &nothing, 1);
  free_.push_back(index);  // there is room: it was there before
}

}  // namespace coracle
