#include "storage/mapped/fault_server.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include "runtime/core/event.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kLargePage = 512 << 10;
constexpr std::size_t kBytesRead = 4 << 20;  // at the same time
constexpr std::size_t kPagesRead = 2;        // or so many, if they are larger

}  // namespace

FaultServer::FaultServer(PagedSegment& segment, WindowPages& pages, Scope& scope, const MappedOptions& options)
    : segment_(segment),
      pages_(pages),
      scope_(scope),
      page_bytes_(segment.page_bytes()),
      reads_(std::max(kBytesRead / page_bytes_, kPagesRead), "read of a window"),
      streams_(static_cast<std::uint32_t>(std::min<std::size_t>(options.read_ahead_pages, pages.most() / 4))) {}

void FaultServer::serve(std::span<const Userfault::Fault> faults) {
  pages_.count_faults(faults.size());
  for (const Userfault::Fault& fault : faults) {
    try {
      serve_one(fault);
    } catch (...) {
      pages_.give_up(fault.offset / page_bytes_, std::current_exception());
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
  if (page->head && !pages_.bring_head(number, *page)) return;
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
  if (error) pages_.not_fetched(number, reserved, error);
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
  pages_.install(number, pinned);
}

}  // namespace coracle::internals::storage
