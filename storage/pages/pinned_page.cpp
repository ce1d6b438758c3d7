// Pinning and letting go.
#include "storage/pages/pinned_page.hpp"

#include <utility>

#include "runtime/core/assert.hpp"
#include "storage/pages/page_cache.hpp"

namespace coracle::internals {

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
