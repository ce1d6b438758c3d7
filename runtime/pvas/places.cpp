// Two zones: pages for small mappings and text, huge granules for large ones.
#include "runtime/pvas/places.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "runtime/pvas/raw_syscall.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::uint64_t kPagesPerHuge = kHugeBytes / kPageBytes;

std::uint64_t lower(std::uint64_t a, std::uint64_t b) noexcept {
  return a < b ? a : b;
}
std::uint64_t higher(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a : b;
}

std::uint64_t claim_near(Control& control, std::uint64_t bytes) noexcept {
  // Not across a 2 MiB boundary if it can be helped: the page tables for a second region cost more than the gap.
  const std::uint64_t pages = page_up(bytes) / kPageBytes;
  return control.near_zone.claim(pages, bytes >= kHugeBytes ? kPagesPerHuge : 1, kPagesPerHuge);
}

std::uint64_t claim_far(Control& control, std::uint64_t bytes) noexcept {
  return control.far_zone.claim(align_up(bytes, kHugeBytes) / kHugeBytes, 1, 1);
}

long map_without_access(std::uint64_t place, std::uint64_t bytes) noexcept {
  const std::uint64_t flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kPlaced;
  return raw_syscall(SYS_mmap, place, bytes, PROT_NONE, flags, -1, 0);
}

/// The far granule lost some of its pages: it is free again only when the kernel finds nothing left in it.
void release_if_empty(Zone& far, std::uint64_t index) noexcept {
  const std::uint64_t place = far.begin + index * far.granule_bytes;
  if (failed(map_without_access(place, far.granule_bytes))) return;
  unmap(place, far.granule_bytes);
  far.clear(index, 1);
}

void release_far(Zone& far, std::uint64_t begin, std::uint64_t end) noexcept {
  const std::uint64_t first_whole = align_up(begin - far.begin, kHugeBytes) / kHugeBytes;
  const std::uint64_t end_whole = (end - far.begin) / kHugeBytes;
  if (first_whole < end_whole) far.clear(first_whole, end_whole - first_whole);
  const std::uint64_t first = far.index_of(begin);
  const std::uint64_t last = far.index_of(end - 1);
  if (first < first_whole) release_if_empty(far, first);
  if (last >= end_whole && last >= first_whole) release_if_empty(far, last);
}

}  // namespace

void begin_places(Control& control) noexcept {
  const PartitionLayout& layout = control.layout;
  auto* words = reinterpret_cast<std::uint64_t*>(layout.control_begin() + kBitmapsOffset);
  const std::uint64_t pages = (layout.near_end() - layout.near_begin()) / kPageBytes;
  control.near_zone = {layout.near_begin(), kPageBytes, pages, words};
  const std::uint64_t granules = (layout.far_end() - layout.far_begin()) / kHugeBytes;
  control.far_zone = {layout.far_begin(), kHugeBytes, granules, words + (pages + 63) / 64};
}

std::uint64_t claim(Control& control, std::uint64_t bytes, bool text) noexcept {
  if (bytes == 0 || bytes >= control.layout.end - control.layout.begin) return Zone::kNone;
  if (!text && bytes >= kHugeBytes) return claim_far(control, bytes);
  const std::uint64_t place = claim_near(control, bytes);
  return place != Zone::kNone ? place : claim_far(control, bytes);
}

bool extend_claim(Control& control, std::uint64_t from, std::uint64_t to) noexcept {
  Zone& near = control.near_zone;
  Zone& far = control.far_zone;
  if (near.contains(from)) return to <= near.end() && near.claim_at(near.index_of(from), (to - from) / kPageBytes);
  if (!far.contains(from - 1) || to > far.end()) return false;
  const std::uint64_t first = far.index_of(from - 1) + 1;  // The granule before is ours already.
  const std::uint64_t last = far.index_of(to - 1);
  return last < first || far.claim_at(first, last - first + 1);
}

std::uint64_t reserve(Control& control, std::uint64_t bytes) noexcept {
  for (int i = 0; i < kTriesMax; ++i) {
    const std::uint64_t place = claim(control, bytes, false);
    if (place == Zone::kNone) return Zone::kNone;
    const long got = map_without_access(place, bytes);
    if (!failed(got)) return place;
    if (got != -EEXIST) {
      note_free(control, place, place + page_up(bytes));
      return Zone::kNone;
    }
  }
  return Zone::kNone;
}

void note_used(Control& control, std::uint64_t begin, std::uint64_t end) noexcept {
  Zone& near = control.near_zone;
  Zone& far = control.far_zone;
  if (near.contains(begin)) near.mark(near.index_of(begin), (lower(end, near.end()) - begin) / kPageBytes);
  const std::uint64_t from = higher(begin, far.begin);
  const std::uint64_t to = lower(end, far.end());
  if (from < to) far.mark(far.index_of(from), far.index_of(to - 1) - far.index_of(from) + 1);
}

void note_free(Control& control, std::uint64_t begin, std::uint64_t end) noexcept {
  Zone& near = control.near_zone;
  Zone& far = control.far_zone;
  if (near.contains(begin)) near.clear(near.index_of(begin), (lower(end, near.end()) - begin) / kPageBytes);
  const std::uint64_t from = higher(begin, far.begin);
  const std::uint64_t to = lower(end, far.end());
  if (from < to) release_far(far, from, to);
}

void unmap(std::uint64_t begin, std::uint64_t bytes) noexcept {
  raw_syscall(SYS_munmap, begin, bytes);
}

}  // namespace coracle::internals::pvas
