// The tables of registered files and buffers.
#include "runtime/core/uring_kept.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

constexpr unsigned kFilesMax = 64;

constexpr unsigned kBuffersMax = 1024;
// Small, so that pinning one (which also makes its pages present) takes a few milliseconds at most; the kernel allows
// 1 GiB.
constexpr std::size_t kPieceBytesMin = 16 << 20;
constexpr std::size_t kPieceBytesMax = 1 << 30;
constexpr std::size_t kPiecesOfArea = 256;

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

bool UringMemory::make_table(io_uring& ring) noexcept {
  if (!table_made_ && !table_refused_) {
    table_made_ = io_uring_register_buffers_sparse(&ring, kBuffersMax) == 0;  // Linux 5.19
    table_refused_ = !table_made_;
  }
  return table_made_;
}

/// Where so many free indices follow each other; kBuffersMax: nowhere.
unsigned UringMemory::room_for(unsigned pieces) const noexcept {
  unsigned first = 0;
  for (const Area& area : areas_) {
    if (area.first - first >= pieces) return first;
    first = area.first + static_cast<unsigned>(area.pieces.size());
  }
  return kBuffersMax - first >= pieces ? first : kBuffersMax;
}

bool UringMemory::add(io_uring& ring, std::byte* begin, std::size_t bytes) {
  std::size_t piece_bytes = kPieceBytesMin;
  while (piece_bytes < kPieceBytesMax && bytes / piece_bytes >= kPiecesOfArea) piece_bytes *= 2;
  const std::size_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
  if (pieces == 0 || pieces > kBuffersMax || !make_table(ring)) return false;
  const unsigned first = room_for(static_cast<unsigned>(pieces));
  if (first == kBuffersMax) return false;
  const auto place = std::ranges::upper_bound(areas_, first, {}, &Area::first);
  areas_.insert(place, {begin, bytes, piece_bytes, first, std::vector<Piece>(pieces, Piece::unused)});
  return true;
}

void UringMemory::remove(io_uring& ring, const std::byte* begin) noexcept {
  const auto area = std::ranges::find(areas_, begin, &Area::begin);
  if (area == areas_.end()) return;
  for (std::size_t i = 0; i < area->pieces.size(); ++i) {
    if (area->pieces[i] != Piece::pinned) continue;
    const iovec nothing{};
    const __u64 tag = 0;
    io_uring_register_buffers_update_tag(&ring, area->first + static_cast<unsigned>(i), &nothing, &tag, 1);
  }
  areas_.erase(area);
}

bool UringMemory::pin(io_uring& ring, Area& area, std::size_t piece) noexcept {
  const std::size_t offset = piece * area.piece_bytes;
  const iovec memory{area.begin + offset, std::min(area.piece_bytes, area.bytes - offset)};
  const __u64 tag = 0;
  const unsigned index = area.first + static_cast<unsigned>(piece);
  const bool pinned = io_uring_register_buffers_update_tag(&ring, index, &memory, &tag, 1) == 1;
  area.pieces[piece] = pinned ? Piece::pinned : Piece::refused;
  return pinned;
}

int UringMemory::find(io_uring& ring, const void* address, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (Area& area : areas_) {
    const std::size_t offset = at - reinterpret_cast<std::uintptr_t>(area.begin);
    if (offset >= area.bytes || bytes > area.bytes - offset) continue;
    const std::size_t piece = offset / area.piece_bytes;
    if (bytes == 0 || (offset + bytes - 1) / area.piece_bytes != piece) return kNone;
    if (area.pieces[piece] == Piece::unused) pin(ring, area, piece);
    return area.pieces[piece] == Piece::pinned ? static_cast<int>(area.first + static_cast<unsigned>(piece)) : kNone;
  }
  return kNone;
}

}  // namespace coracle::internals
