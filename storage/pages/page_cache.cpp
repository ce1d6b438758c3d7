#include "storage/pages/page_cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/events.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/pages/pinned_page.hpp"

namespace coracle::internals::storage {

PageCache::PageCache(Rank& rank, const Shape& shape, const Frames& frames, CacheController* own)
    : rank_(rank),
      shape_(shape),
      frames_(frames),
      controller_(rank, shape.controller, shape.segment, frames, own),
      read_ahead_(read_ahead_pages(shape.read_ahead_pages, frames.shape())),
      page_shift_(std::countr_zero(shape.page_bytes)) {}

PageCache::~PageCache() {
  Events* const events = rank_.loop().events();
  if (events == nullptr || hits_ + absent_ == 0) return;
  coracle_event event = events->event(CORACLE_PAGE_USES);
  event.number = hits_ + absent_;
  event.id = hits_;
  events->tell(event);
}

void PageCache::check_range(std::uint64_t offset, std::uint64_t bytes, const char* what) const {
  if (offset <= shape_.bytes && bytes <= shape_.bytes - offset) return;
  throw Error(Errc::out_of_segment,
              fmt::format("{} on rank {}: bytes {} to {} lie outside the paged segment of {} bytes", what, rank_.id(),
                          offset, byte_end(offset, bytes), shape_.bytes));
}

std::size_t PageCache::copy_cached(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) noexcept {
  return copy_hits(writing, !writing, offset, local, bytes);
}

/// `goes_ahead`: pages behind these may be read ahead.
std::size_t PageCache::copy_hits(bool writing, bool goes_ahead, std::uint64_t offset, std::byte* local,
                                 std::size_t bytes) noexcept {
  if (offset > shape_.bytes || bytes > shape_.bytes - offset) return 0;
  std::size_t done = 0;
  while (done < bytes) {
    const std::uint64_t page = (offset + done) >> page_shift_;
    const std::uint32_t frame = frames_.try_pin(page, writing);
    if (frame == Frames::kNone) break;
    if (goes_ahead) read_ahead(page, page);  // before the copy, so that both go on at the same time
    const std::uint64_t in_page = (offset + done) & (shape_.page_bytes - 1);
    const std::size_t part = std::min<std::size_t>(bytes - done, shape_.page_bytes - in_page);
    std::byte* place = frames_.bytes_of(frame) + in_page;
    if (writing)
      std::memcpy(place, local + done, part);
    else
      std::memcpy(local + done, place, part);
    release(frame, writing);
    ++hits_;
    done += part;
  }
  return done;
}

/// What the helpers of one large copy share.
struct PageCache::Copying {
  bool writing;
  std::uint64_t offset;
  std::byte* local;
  std::size_t bytes;
  std::size_t begun = 0;
};

/// What lies in one page needs no coroutine around that page's.
Task<> PageCache::copy(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) {
  const bool inside = offset <= shape_.bytes && bytes <= shape_.bytes - offset;
  const std::uint64_t first = offset >> page_shift_;
  const std::uint64_t last = (offset + bytes - 1) >> page_shift_;
  if (!inside || bytes == 0 || first != last) return copy_range(writing, offset, local, bytes);
  if (!writing) read_ahead(first, last);
  return copy_page(writing, offset, local, bytes);
}

Task<> PageCache::copy_range(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) {
  check_range(offset, bytes, writing ? "put" : "get");
  if (bytes == 0) co_return;
  if (!writing) read_ahead(offset >> page_shift_, (offset + bytes - 1) >> page_shift_);
  Copying copying{writing, offset, local, bytes};
  co_await copy_pages(copying);
}

Task<> PageCache::copy_page(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) {
  const std::uint64_t in_page = offset & (shape_.page_bytes - 1);
  const std::uint64_t page = offset >> page_shift_;
  const std::uint64_t page_end = std::min<std::uint64_t>((page + 1) << page_shift_, shape_.bytes);
  if (writing && in_page == 0 && offset + bytes == page_end && controller_.reads_here()) {
    co_await write_whole(page, local);
    co_return;
  }
  const std::uint32_t frame = co_await acquire(page, writing);
  std::byte* place = frames_.bytes_of(frame) + in_page;
  if (writing)
    std::memcpy(place, local, bytes);
  else
    std::memcpy(local, place, bytes);
  release(frame, writing);
}

/// Several pages at once are on their way; none is pinned for longer than its copy.
Task<> PageCache::copy_pages(Copying& copying) {
  constexpr std::size_t kBytesInFlight = 8 << 20;
  constexpr std::size_t kPagesInFlight = 32;
  const std::size_t by_bytes = std::clamp<std::size_t>(kBytesInFlight / shape_.page_bytes, 2, kPagesInFlight);
  const std::size_t helpers = std::clamp<std::size_t>(frames_.shape().frames / 2, 1, by_bytes);
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  for (std::size_t i = 0; i < helpers && copying.begun < copying.bytes; ++i) scope.spawn(help(copying));
  co_await scope.join();
  if (copying.begun < copying.bytes)
    throw Error(self.scope().cancelled(),
                fmt::format("{} on rank {}: cancelled after {} of {} bytes", copying.writing ? "put" : "get",
                            rank_.id(), copying.begun, copying.bytes));
}

Task<> PageCache::help(Copying& copying) {
  PromiseBase& self = co_await this_coroutine();
  while (copying.begun < copying.bytes && !self.scope().cancelled()) {
    const std::uint64_t offset = copying.offset + copying.begun;
    std::byte* local = copying.local + copying.begun;
    const std::uint64_t in_page = offset & (shape_.page_bytes - 1);
    const std::size_t part = std::min<std::size_t>(copying.bytes - copying.begun, shape_.page_bytes - in_page);
    copying.begun += part;
    if (copy_hits(copying.writing, false, offset, local, part) != part)
      co_await copy_page(copying.writing, offset, local, part);
  }
}

void PageCache::read_ahead(std::uint64_t first, std::uint64_t last) noexcept {
  const ReadAhead::Pages pages = read_ahead_.reads(first, last);
  if (pages.count > 0) prefetch(pages.first, pages.count);
}

void PageCache::release(std::uint32_t frame, bool writing) noexcept {
  frames_.head(frame).unpin(writing);
  if (frames_.shared().wants_unpins.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    controller_.unpinned();
}

/// Without fetching it.
Task<> PageCache::write_whole(std::uint64_t page, const std::byte* source) {
  ++absent_;
  const std::uint32_t frame = co_await controller_.obtain(page, true, source);
  release(frame, true);
}

std::uint32_t PageCache::try_pin(std::uint64_t page, bool writing) {
  if (page >= frames_.shape().pages)
    throw Error(Errc::out_of_segment, fmt::format("pin on rank {}: the paged segment has no page {}, only {}",
                                                  rank_.id(), page, frames_.shape().pages));
  if (!writing) read_ahead(page, page);
  return try_pin_alone(page, writing);
}

std::uint32_t PageCache::try_pin_alone(std::uint64_t page, bool writing) noexcept {
  const std::uint32_t frame = frames_.try_pin(page, writing);
  if (frame != Frames::kNone) ++hits_;
  return frame;
}

void PageCache::prefetch(std::uint64_t first, std::uint64_t count) noexcept {
  const std::uint64_t pages = frames_.shape().pages;
  if (first >= pages) return;
  controller_.prefetch(first, std::min(count, pages - first));
}

}  // namespace coracle::internals::storage

namespace coracle::internals {

// --- pinning and letting go ---

Task<PinnedPage> PinnedPage::pin(storage::PageCache& cache, std::uint64_t page, bool writing) {
  std::uint32_t frame = cache.try_pin(page, writing);
  if (frame == storage::Frames::kNone) frame = co_await cache.acquire(page, writing);
  PinnedPage pinned(cache, frame, writing);
  co_return pinned;
}

PinnedPage::PinnedPage(PinnedPage&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), frame_(other.frame_), writing_(other.writing_) {}
PinnedPage& PinnedPage::operator=(PinnedPage&& other) noexcept {
  if (this == &other) return *this;
  release();
  cache_ = std::exchange(other.cache_, nullptr);
  frame_ = other.frame_;
  writing_ = other.writing_;
  return *this;
}
PinnedPage::~PinnedPage() {
  release();
}
void PinnedPage::release() noexcept {
  if (cache_ != nullptr) std::exchange(cache_, nullptr)->release(frame_, writing_);
}
std::span<const std::byte> PinnedPage::bytes() const noexcept {
  return {cache_->frames().bytes_of(frame_), cache_->shape().page_bytes};
}
bool PinnedPage::frozen() const noexcept {
  return cache_->frozen(frame_);
}
std::span<std::byte> PinnedPage::writable() const noexcept {
  CORACLE_ASSERT(writing_, "a page pinned for reading was to be written: pin(page, true)");
  return {cache_->frames().bytes_of(frame_), cache_->shape().page_bytes};
}

}  // namespace coracle::internals
