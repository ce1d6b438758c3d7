#include "runtime/core/uring_files.hpp"

#include <bit>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

constexpr unsigned kFilesMax = 64;

}  // namespace

bool UringFiles::make_table(io_uring& ring) noexcept {
  if (!table_made_ && !table_refused_) {
    table_made_ = io_uring_register_files_sparse(&ring, kFilesMax) == 0;  // Linux 5.19
    table_refused_ = !table_made_;
  }
  return table_made_;
}

bool UringFiles::add(io_uring& ring, int fd) {
  if (fd < 0) return false;
  // Else requests for this file would go to that one.
  CORACLE_ASSERT(find(fd) == kNone, "descriptor {} was closed while its file was kept", fd);
  if (indices_.size() <= static_cast<std::size_t>(fd)) indices_.resize(static_cast<std::size_t>(fd) + 1, kNone);
  if (!make_table(ring)) return false;
  const auto index = static_cast<unsigned>(std::countr_one(taken_));
  if (index == kFilesMax || io_uring_register_files_update(&ring, index, &fd, 1) != 1) return false;
  taken_ |= std::uint64_t{1} << index;
  indices_[static_cast<std::size_t>(fd)] = static_cast<int>(index);
  return true;
}

void UringFiles::remove(io_uring& ring, int fd) noexcept {
  if (find(fd) == kNone) return;
  const auto index = static_cast<unsigned>(std::exchange(indices_[static_cast<std::size_t>(fd)], kNone));
  const int nothing = -1;
  io_uring_register_files_update(&ring, index, &nothing, 1);
  taken_ &= ~(std::uint64_t{1} << index);
}

void UringFiles::give_up(int fd) noexcept {
  if (find(fd) != kNone) indices_[static_cast<std::size_t>(fd)] = kNone;
}

}  // namespace coracle::internals
