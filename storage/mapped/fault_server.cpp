#include "storage/mapped/fault_server.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kLargePage = 512 << 10;
constexpr std::size_t kBytesRead = 4 << 20;  // at the same time
constexpr std::size_t kPagesRead = 2;        // or so many, if they are larger

}  // namespace

FaultServer::FaultServer(Rank& rank, PagedSegment& segment, Userfault& faults, WindowPages& pages, Scope& scope,
                         const MappedOptions& options)
    : rank_(rank),
      segment_(segment),
      faults_(faults),
      pages_(pages),
      scope_(scope),
      huge_pages_(pages.huge_pages()),
      page_bytes_(segment.page_bytes()),
      head_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      reads_(std::max(kBytesRead / page_bytes_, kPagesRead), "read of a window"),
      streams_(static_cast<std::uint32_t>(std::min<std::size_t>(options.read_ahead_pages, pages.most() / 4))) {}

void FaultServer::serve(std::span<const Userfault::Fault> faults) {
  pages_.counts().faults += faults.size();
  for (const Userfault::Fault& fault : faults) {
    try {
      serve_one(fault);
    } catch (...) {
      give_up(fault.offset / page_bytes_, std::current_exception());
    }
  }
}

/// What was reported may be old: each report ends with the thread looking again, sooner or later.
void FaultServer::serve_one(const Userfault::Fault& fault) {
  const std::uint64_t number = fault.offset / page_bytes_;
  WindowPages::Page* page = pages_.find(number);
  if (page == nullptr) {
    if (fault.present) return pages_.wake(number);  // evicted since then
    begin_fetch(number, fault.writing ? Reason::store : Reason::load);
    return fetch_ahead(number);
  }
  page->wanted = true;
  const bool on_its_way = page->state == State::fetching || page->head != nullptr;
  if (page->head && !bring_head(number, *page)) return;
  serve_known(number, *page, fault.writing);
  if (on_its_way) fetch_ahead(number);
}

void FaultServer::serve_known(std::uint64_t number, WindowPages::Page& page, bool writing) {
  switch (page.state) {
    case State::fetching:
      page.store_waits |= writing;
      return;
    case State::cleaning:
      if (!writing) break;
      page.store_waits = true;
      return;
    case State::clean:
      if (!writing) break;
      page.used = true;
      return pages_.allow_stores(number, page);
    case State::dirty:
    case State::refused:
      break;
  }
  pages_.wake(number);
}

/// Somebody has come to `page`, and had to wait.
void FaultServer::fetch_ahead(std::uint64_t page) {
  const FaultStreams::Pages ahead = streams_.fault(page);
  const std::uint64_t end = std::min(ahead.first + ahead.count, segment_.pages());
  try {
    for (std::uint64_t next = ahead.first; next < end; ++next)
      if (pages_.find(next) == nullptr) begin_fetch(next, next == ahead.first ? Reason::mark : Reason::ahead);
  } catch (const std::bad_alloc&) {
    // Nobody has asked for these yet.
  }
}

void FaultServer::begin_fetch(std::uint64_t number, Reason reason) {
  WindowPages::Page& page = pages_.add(number);
  page.wanted = reason == Reason::load || reason == Reason::store;
  page.store_waits = reason == Reason::store;
  page.mark = reason == Reason::mark;
  try {
    scope_.spawn(fetch(number));
  } catch (...) {
    pages_.erase(number);
    throw;
  }
}

Task<> FaultServer::fetch(std::uint64_t number) {
  std::exception_ptr error;
  bool reserved = false;
  try {
    co_await pages_.reserve();
    reserved = true;
    co_await read_and_install(number);
  } catch (...) {
    error = std::current_exception();
  }
  if (error && reserved) pages_.release_room();
  if (error) refuse(number, error);
  pages_.changed();
  pages_.make_room();
}

/// Few large pages at a time: a device that brings all that it was asked for at once does nothing while they are
/// copied.
Task<> FaultServer::read_and_install(std::uint64_t number) {
  Semaphore::Permit reading = co_await reads_.acquire();
  const PinnedPage pinned = co_await segment_.pin(number);
  reading.release();
  if (page_bytes_ >= kLargePage) {
    // The next read is asked for in the loop's next turn, and sent with the one after that: not after this copy.
    co_await yield();
    co_await yield();
  }
  install(number, pinned);
}

// --- what comes ---

/// Somebody has come to a mark: now its first bytes come, too. False: it is missing as a whole again.
bool FaultServer::bring_head(std::uint64_t number, WindowPages::Page& page) {
  const std::unique_ptr<std::byte[]> head = std::move(page.head);
  if (faults_.fill(pages_.offset_of(number), head.get(), head_bytes_, true) == 0) return true;
  pages_.drop(number);
  return false;
}

/// Its thread must not wait for ever. Without memory even for this the program ends.
void FaultServer::give_up(std::uint64_t number, const std::exception_ptr& error) noexcept {
  WindowPages::Page& page = pages_.add(number);
  page.wanted = true;
  if (page.state == State::clean) {
    faults_.drop(pages_.offset_of(number), page_bytes_);
    pages_.release_room();
  }
  refuse(number, error);
}

void FaultServer::install(std::uint64_t number, const PinnedPage& pinned) {
  WindowPages::Page& page = pages_.at(number);
  std::span<const std::byte> bytes = pinned.bytes();
  bool frozen = pinned.frozen();
  page.state = State::clean;
  if (page.store_waits) {
    pages_.make_dirty(page, bytes);
    // Others may be writing to the cached page: window and copy must be of the same moment.
    if (page.before) bytes = {page.before.get(), page_bytes_};
    frozen = true;
  }
  const int error = fill(number, page, bytes, frozen);
  if (error != 0) page.state = State::fetching;
  pages_.check(error, "filling", number);
  ++pages_.counts().fetched;
  if (!page.wanted) ++pages_.counts().read_ahead;
  pages_.came(number, page);
}

/// Of a clean or dirty page; the clean one may become dirty.
int FaultServer::fill(std::uint64_t number, WindowPages::Page& page, std::span<const std::byte> bytes, bool frozen) {
  const std::size_t offset = pages_.offset_of(number);
  const bool protect = page.state == State::clean;
  if (page.mark && !page.wanted) return fill_behind_head(number, page, bytes);
  if (!huge_pages_.usable() || !frozen || huge_pages_.fill(offset, bytes.data()) != 0)
    return faults_.fill(offset, bytes.data(), page_bytes_, protect);
  page.moved = true;
  if (protect) {
    const int error = faults_.protect(offset, page_bytes_);
    if (error != 0) {
      faults_.drop(offset, page_bytes_);
      return error;
    }
    // What is moved comes without protection: a thread that ran may have stored before.
    if (std::memcmp(faults_.data() + offset, bytes.data(), page_bytes_) != 0) {
      pages_.make_dirty(page, bytes);
      return faults_.unprotect(offset, page_bytes_);  // wakes, too
    }
  }
  faults_.wake(offset, page_bytes_);
  return 0;
}

int FaultServer::fill_behind_head(std::uint64_t number, WindowPages::Page& page, std::span<const std::byte> bytes) {
  page.head = std::make_unique_for_overwrite<std::byte[]>(head_bytes_);
  std::memcpy(page.head.get(), bytes.data(), head_bytes_);
  if (page_bytes_ == head_bytes_) return 0;
  const int error =
      faults_.fill(pages_.offset_of(number) + head_bytes_, bytes.data() + head_bytes_, page_bytes_ - head_bytes_, true);
  if (error != 0) page.head.reset();
  return error;
}

void FaultServer::refuse(std::uint64_t number, const std::exception_ptr& error) {
  WindowPages::Page& page = pages_.at(number);
  if (!page.wanted || scope_.cancelled()) {
    pages_.erase(number);
    return pages_.wake(number);
  }
  ++pages_.counts().refused;
  page.state = State::refused;
  const std::string what = fmt::format(
      "page {} of a mapped segment can't be had; whoever touches its window at bytes {} to {} gets a signal", number,
      pages_.offset_of(number), pages_.offset_of(number) + page_bytes_);
  report_failure(rank_.id(), what.c_str(), error);
  const int refused = faults_.refuse(pages_.offset_of(number), page_bytes_);
  CORACLE_ASSERT(refused == 0, "the kernel can't refuse a page of a window (error {}): its users would hang", refused);
}

}  // namespace coracle::internals::storage
