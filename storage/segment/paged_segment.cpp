#include "storage/segment/paged_segment.hpp"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"
#include "storage/pages/cache_controller.hpp"
#include "storage/pages/page_cache.hpp"
#include "storage/segment/segment_setup.hpp"

namespace coracle::internals {

void storage::throw_no_such_elements(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
  throw Error(Errc::out_of_segment,
              fmt::format("{} elements from {} on lie outside the paged array, which has {}", count, first, size));
}

// --- PagedTransfer ---

bool PagedTransfer::await_ready() {
  const std::size_t done = cache_.copy_cached(writing_, offset_, local_, bytes_);
  if (done == bytes_ && (bytes_ > 0 || offset_ <= cache_.shape().bytes)) [[likely]]
    return true;
  rest_ = cache_.copy(writing_, offset_ + done, local_ + done, bytes_ - done);
  return false;
}

// --- PagedSegment ---

/// What is under way without anybody waiting for it.
struct PagedSegment::Handle::Started {
  Event done;
  std::exception_ptr error;
};

PagedSegment::PagedSegment(std::unique_ptr<storage::SegmentParts> parts) noexcept : parts_(std::move(parts)) {}
PagedSegment::PagedSegment(PagedSegment&&) noexcept = default;
PagedSegment& PagedSegment::operator=(PagedSegment&&) noexcept = default;
PagedSegment::~PagedSegment() = default;

Task<PagedSegment> PagedSegment::create(Team& team, PagedOptions options) {
  // Named: of a temporary made from braces in a co_await expression GCC 12 destroys a copy, too.
  const storage::OpenOptions fresh{true, {}};
  PagedSegment segment(co_await storage::set_up(team, std::move(options), fresh));
  co_return segment;
}
Task<PagedSegment> PagedSegment::open(Team& team, PagedOptions options, std::string checkpoint) {
  storage::OpenOptions existing{false, std::move(checkpoint)};
  PagedSegment segment(co_await storage::set_up(team, std::move(options), std::move(existing)));
  co_return segment;
}

std::uint64_t PagedSegment::bytes() const noexcept {
  return parts_->cache->shape().bytes;
}
std::uint64_t PagedSegment::page_bytes() const noexcept {
  return parts_->cache->shape().page_bytes;
}
std::uint64_t PagedSegment::pages() const noexcept {
  return parts_->cache->frames().shape().pages;
}

PagedTransfer PagedSegment::get(std::uint64_t offset, std::span<std::byte> target) {
  return {*parts_->cache, false, offset, target.data(), target.size()};
}
PagedTransfer PagedSegment::put(std::uint64_t offset, std::span<const std::byte> source) {
  return {*parts_->cache, true, offset, const_cast<std::byte*>(source.data()), source.size()};
}

Task<> PagedSegment::get(std::uint64_t offset, const Layout& layout, std::uint64_t count, ScatteredTarget target) {
  return storage::copy_scattered({*parts_->cache, false, offset, layout, count, target});
}
Task<> PagedSegment::put(ScatteredSource source, std::uint64_t offset, const Layout& layout, std::uint64_t count) {
  const ScatteredTarget local{const_cast<void*>(source.origin), source.layout, source.count};
  return storage::copy_scattered({*parts_->cache, true, offset, layout, count, local});
}

namespace {

/// Keeps the cache that it uses alive by its segment's rule: nothing is in flight when that ends.
template <class Started>
Task<> finish(std::shared_ptr<Started> started, PagedTransfer transfer) {
  try {
    co_await transfer;
  } catch (...) {
    started->error = std::current_exception();
  }
  started->done.set();
}

template <class Started>
std::shared_ptr<Started> start(storage::PageCache& cache, PagedTransfer transfer) {
  auto started = std::make_shared<Started>();
  cache.rank().service().spawn(finish(started, std::move(transfer)));
  return started;
}

Task<> finish_implicit(std::shared_ptr<storage::ImplicitTransfers> implicit, Task<> rest) {
  try {
    co_await rest;
  } catch (...) {
    if (!implicit->error) implicit->error = std::current_exception();
  }
  if (--implicit->pending == 0 && implicit->none != nullptr) implicit->none->set();
}

void start_implicit(storage::PageCache& cache, const std::shared_ptr<storage::ImplicitTransfers>& implicit,
                    bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) {
  const std::size_t done = cache.copy_cached(writing, offset, local, bytes);
  if (done == bytes && bytes > 0) return;
  ++implicit->pending;
  Task<> rest = cache.copy(writing, offset + done, local + done, bytes - done);
  cache.rank().service().spawn(finish_implicit(implicit, std::move(rest)));
}

Task<> implicit_done(storage::ImplicitTransfers& implicit) {
  if (implicit.pending > 0) {
    CORACLE_ASSERT(implicit.none == nullptr, "two coroutines await the implicit operations of one paged segment");
    Event none;
    implicit.none = &none;
    co_await uninterrupted(none);
    implicit.none = nullptr;
  }
  if (implicit.error) std::rethrow_exception(std::exchange(implicit.error, nullptr));
}

}  // namespace

PagedSegment::Handle PagedSegment::get_nb(std::uint64_t offset, std::span<std::byte> target) {
  return Handle(start<Handle::Started>(*parts_->cache, get(offset, target)));
}
PagedSegment::Handle PagedSegment::put_nb(std::uint64_t offset, std::span<const std::byte> source) {
  return Handle(start<Handle::Started>(*parts_->cache, put(offset, source)));
}
void PagedSegment::get_nbi(std::uint64_t offset, std::span<std::byte> target) {
  start_implicit(*parts_->cache, parts_->implicit, false, offset, target.data(), target.size());
}
void PagedSegment::put_nbi(std::uint64_t offset, std::span<const std::byte> source) {
  start_implicit(*parts_->cache, parts_->implicit, true, offset, const_cast<std::byte*>(source.data()), source.size());
}
Task<> PagedSegment::nbi_done() {
  return implicit_done(*parts_->implicit);
}

Task<> PagedSegment::Handle::wait() {
  const std::shared_ptr<Started> started = started_;
  co_await uninterrupted(started->done);
  if (started->error) std::rethrow_exception(started->error);
}
bool PagedSegment::Handle::done() const noexcept {
  return started_->done.is_set();
}

Task<PinnedPage> PagedSegment::pin(std::uint64_t page, bool writing) {
  return PinnedPage::pin(*parts_->cache, page, writing);
}

void PagedSegment::prefetch(std::uint64_t offset, std::uint64_t bytes) {
  storage::PageCache& cache = *parts_->cache;
  if (bytes == 0 || offset >= cache.shape().bytes) return;
  const std::uint64_t first = offset / cache.shape().page_bytes;
  const std::uint64_t end = offset + std::min(bytes, cache.shape().bytes - offset);
  cache.prefetch(first, (end - 1) / cache.shape().page_bytes - first + 1);
}

void PagedSegment::advise(storage::EvictionKind kind) {
  storage::advise(*parts_, kind);
}

Task<> PagedSegment::flush() {
  return storage::flush(*parts_);
}
Task<> PagedSegment::checkpoint(std::string name) {
  return storage::checkpoint(*parts_, std::move(name));
}
Task<> PagedSegment::close() {
  return storage::close(*parts_);
}

PagedCounts PagedSegment::counts() const {
  return storage::counts(*parts_);
}

}  // namespace coracle::internals
