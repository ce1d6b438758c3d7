#include "storage/pages/page_cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/io.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/pages/cache_controller.hpp"
#include "storage/pages/segment_table.hpp"

namespace coracle::internals::storage {
namespace {

Task<> send_unpinned(Rank& rank, std::uint32_t controller, Handler handler, std::uint32_t segment) {
  co_await rank.request(controller, handler, {}, segment);
}

Task<> send_prefetch(Rank& rank, std::uint32_t controller, Handler handler, std::uint32_t segment, std::uint64_t first,
                     std::uint64_t count) {
  co_await rank.request(controller, handler, {}, segment, first, count);
}

}  // namespace

PageCache::PageCache(Rank& rank, const Shape& shape, const Frames& frames, CacheController* own)
    : rank_(rank),
      shape_(shape),
      frames_(frames),
      own_(own),
      read_ahead_(read_ahead_pages(shape.read_ahead_pages, frames.shape())),
      implicit_(std::make_shared<Implicit>()),
      controller_reads_here_(rank.placement() == Placement::pvas || rank.placement() == Placement::thread),
      page_shift_(std::countr_zero(shape.page_bytes)) {}
PageCache::~PageCache() = default;

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
  if (writing && in_page == 0 && offset + bytes == page_end && (own_ != nullptr || controller_reads_here_)) {
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
    tell_unpinned();
}

void PageCache::tell_unpinned() noexcept {
  if (own_ != nullptr) return own_->unpinned();
  rank_.service().spawn(send_unpinned(rank_, shape_.controller, serve_unpinned, shape_.segment));
}

Task<std::uint32_t> PageCache::acquire(std::uint64_t page, bool writing) {
  if (own_ != nullptr) return own_->obtain(page, writing);
  return ask_controller(page, writing, nullptr);
}

/// Without fetching it.
Task<> PageCache::write_whole(std::uint64_t page, const std::byte* source) {
  std::uint32_t frame = Frames::kNone;
  if (own_ != nullptr)
    frame = co_await own_->obtain(page, true, source);
  else
    frame = co_await ask_controller(page, true, source);
  release(frame, true);
}

std::uint32_t PageCache::try_pin(std::uint64_t page, bool writing) {
  if (page >= frames_.shape().pages)
    throw Error(Errc::out_of_segment, fmt::format("pin on rank {}: the paged segment has no page {}, only {}",
                                                  rank_.id(), page, frames_.shape().pages));
  if (!writing) read_ahead(page, page);
  const std::uint32_t frame = frames_.try_pin(page, writing);
  if (frame != Frames::kNone) ++hits_;
  return frame;
}

// --- implicit operations ---

struct PageCache::Implicit {
  std::size_t pending = 0;
  std::exception_ptr error;
  Event* none = nullptr;  // awaited in implicit_done()
};

void PageCache::start_implicit(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) {
  const std::size_t done = copy_cached(writing, offset, local, bytes);
  if (done == bytes && bytes > 0) return;
  ++implicit_->pending;
  rank_.service().spawn(finish_implicit(implicit_, writing, offset + done, local + done, bytes - done));
}

Task<> PageCache::finish_implicit(std::shared_ptr<Implicit> implicit, bool writing, std::uint64_t offset,
                                  std::byte* local, std::size_t bytes) {
  try {
    co_await copy(writing, offset, local, bytes);
  } catch (...) {
    if (!implicit->error) implicit->error = std::current_exception();
  }
  if (--implicit->pending == 0 && implicit->none != nullptr) implicit->none->set();
}

Task<> PageCache::implicit_done() {
  if (implicit_->pending > 0) {
    CORACLE_ASSERT(implicit_->none == nullptr, "two coroutines await the implicit operations of one paged segment");
    Event none;
    implicit_->none = &none;
    co_await uninterrupted(none);
    implicit_->none = nullptr;
  }
  if (implicit_->error) std::rethrow_exception(std::exchange(implicit_->error, nullptr));
}

// --- by message, for ranks that share the cache of another ---

/// A page that the controller was asked for; it lives in the asker's frame, and its address travels.
struct PageCache::Asked {
  Asked(RankCore& core, std::uint32_t controller) noexcept : answered(core, "page", controller) {}
  PeerEvent answered;
  std::uint32_t frame = Frames::kNone;
  int code = 0;
  bool own_code = false;
  std::string text;
};

Task<std::uint32_t> PageCache::ask_controller(std::uint64_t page, bool writing, const std::byte* whole) {
  Asked asked(rank_.core(), shape_.controller);
  co_await rank_.request(shape_.controller, serve_acquire, {}, shape_.segment, page, writing ? 1 : 0,
                         reinterpret_cast<std::uint64_t>(&asked), reinterpret_cast<std::uint64_t>(whole));
  co_await asked.answered;
  if (asked.frame != Frames::kNone) co_return asked.frame;
  const std::error_code code = asked.own_code ? make_error_code(static_cast<Errc>(asked.code))
                                              : std::error_code(asked.code, std::generic_category());
  throw Error(code, asked.text);
}

void PageCache::serve_acquire(Rank& rank, const Message& message) {
  rank.service().spawn(answer_acquire(
      rank, message.source(), message.argument(3), static_cast<std::uint32_t>(message.argument(0)), message.argument(1),
      message.argument(2) != 0, reinterpret_cast<const std::byte*>(message.argument(4))));
}

Task<> PageCache::answer_acquire(Rank& rank, std::uint32_t asker, std::uint64_t cookie, std::uint32_t segment,
                                 std::uint64_t page, bool writing, const std::byte* whole) {
  std::uint32_t frame = Frames::kNone;
  std::error_code code;
  std::string text;
  try {
    CacheController* controller = rank.local<SegmentTable>().find(segment);
    if (controller == nullptr)
      throw Error(make_error_code(std::errc::bad_file_descriptor), "the paged segment is closed");
    frame = co_await controller->obtain(page, writing, whole);
  } catch (const Error& error) {
    code = error.code();
    text = error.what();
  }
  const bool own_code = code.category() == coracle_category();
  const std::span<const char> bytes(text);
  const Result<> told = co_await as_result(rank.request(asker, take_acquired, std::as_bytes(bytes), cookie, frame,
                                                        static_cast<std::uint64_t>(code.value()), own_code ? 1 : 0));
  if (told.ok() || frame == Frames::kNone) co_return;
  // The asker is lost, and will not let go of it.
  CacheController* controller = rank.local<SegmentTable>().find(segment);
  if (controller == nullptr) co_return;
  controller->frames().head(frame).unpin(writing);
  controller->unpinned();
}

void PageCache::take_acquired(Rank&, const Message& message) {
  Asked& asked = *reinterpret_cast<Asked*>(message.argument(0));
  asked.frame = static_cast<std::uint32_t>(message.argument(1));
  asked.code = static_cast<int>(message.argument(2));
  asked.own_code = message.argument(3) != 0;
  asked.text.assign(reinterpret_cast<const char*>(message.payload().data()), message.payload().size());
  asked.answered.set();
}

void PageCache::serve_unpinned(Rank& rank, const Message& message) {
  if (CacheController* controller = rank.local<SegmentTable>().find(static_cast<std::uint32_t>(message.argument(0))))
    controller->unpinned();
}

void PageCache::serve_prefetch(Rank& rank, const Message& message) {
  if (CacheController* controller = rank.local<SegmentTable>().find(static_cast<std::uint32_t>(message.argument(0))))
    controller->prefetch(message.argument(1), message.argument(2));
}

void PageCache::prefetch(std::uint64_t first, std::uint64_t count) noexcept {
  const std::uint64_t pages = frames_.shape().pages;
  if (first >= pages) return;
  count = std::min(count, pages - first);
  if (own_ != nullptr) {
    own_->prefetch(first, count);
    if (rank_.loop().io_in_flight()) rank_.loop().io().hand_over();  // what comes next may be a long copy
    return;
  }
  while (count > 0 && frames_.find(first) != Frames::kNone) {
    ++first;
    --count;
  }
  if (count > 0)
    rank_.service().spawn(send_prefetch(rank_, shape_.controller, serve_prefetch, shape_.segment, first, count));
}

}  // namespace coracle::internals::storage
