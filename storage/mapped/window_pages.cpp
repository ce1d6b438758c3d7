#include "storage/mapped/window_pages.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/failure.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kPagesMin = 4;
constexpr std::size_t kLargePage = 512 << 10;
constexpr std::size_t kBytesRead = 4 << 20;  // at the same time
constexpr std::size_t kPagesRead = 2;        // or so many, if they are larger
constexpr std::size_t kSpareMax = 32;

void check(int error, const char* what, std::uint64_t page) {
  if (error != 0) throw_errno(error, fmt::format("{} page {} in the window of a mapped segment", what, page));
}

/// Copies the bytes that differ between `before` and `now` to `target`.
void copy_changed(const std::byte* before, std::span<const std::byte> now, std::byte* target) noexcept {
  constexpr std::size_t kBlock = 64;
  for (std::size_t start = 0; start < now.size(); start += kBlock) {
    const std::size_t end = std::min(start + kBlock, now.size());
    if (std::memcmp(before + start, now.data() + start, end - start) == 0) continue;
    for (std::size_t i = start; i < end; ++i)
      if (before[i] != now[i]) target[i] = now[i];
  }
}

}  // namespace

WindowPages::WindowPages(Rank& rank, PagedSegment& segment, Userfault& faults, Scope& scope,
                         const MappedOptions& options)
    : rank_(rank),
      segment_(segment),
      faults_(faults),
      scope_(scope),
      page_bytes_(segment.page_bytes()),
      head_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      resident_max_(std::max<std::size_t>(options.window_bytes / page_bytes_, kPagesMin)),
      spare_(std::min(resident_max_ / 16, kSpareMax)),
      reading_max_(std::max(kBytesRead / page_bytes_, kPagesRead)),
      whole_pages_(options.whole_pages),
      evicted_(std::bit_ceil(std::min<std::size_t>(resident_max_, segment.pages())), kNoPage),
      streams_(static_cast<std::uint32_t>(std::min<std::size_t>(options.read_ahead_pages, resident_max_ / 4))),
      huge_pages_(faults, page_bytes_) {
  leaving_.reserve(spare_);
}

std::span<std::byte> WindowPages::bytes_of(std::uint64_t number) const noexcept {
  const std::size_t offset = offset_of(number);
  return {faults_.data() + offset, std::min<std::size_t>(page_bytes_, segment_.bytes() - offset)};
}

// --- faults ---

void WindowPages::serve(std::span<const Userfault::Fault> faults) {
  counts_.faults += faults.size();
  for (const Userfault::Fault& fault : faults) {
    try {
      serve_one(fault);
    } catch (...) {
      give_up(fault, std::current_exception());
    }
  }
}

/// Its thread must not wait for ever. Without memory even for this the program ends.
void WindowPages::give_up(const Userfault::Fault& fault, const std::exception_ptr& error) noexcept {
  const std::uint64_t number = fault.offset / page_bytes_;
  Page& page = pages_[number];
  page.wanted = true;
  if (page.state == State::clean) {
    faults_.drop(offset_of(number), page_bytes_);
    --resident_;
  }
  refuse(number, error);
}

/// What was reported may be old: each report ends with the thread looking again, sooner or later.
void WindowPages::serve_one(const Userfault::Fault& fault) {
  const std::uint64_t number = fault.offset / page_bytes_;
  const auto found = pages_.find(number);
  if (found == pages_.end()) {
    if (fault.present) return faults_.wake(offset_of(number), page_bytes_);  // evicted since then
    begin_fetch(number, fault.writing ? Reason::store : Reason::load);
    return fetch_ahead(number);
  }
  Page& page = found->second;
  page.wanted = true;
  const bool on_its_way = page.state == State::fetching || page.head != nullptr;
  if (page.head && !bring_head(number, page)) return;
  serve_known(number, page, fault.writing);
  if (on_its_way) fetch_ahead(number);
}

void WindowPages::serve_known(std::uint64_t number, Page& page, bool writing) {
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
      return allow_stores(number, page);
    case State::dirty:
    case State::refused:
      break;
  }
  faults_.wake(offset_of(number), page_bytes_);
}

/// Somebody has come to `page`, and had to wait.
void WindowPages::fetch_ahead(std::uint64_t page) {
  const FaultStreams::Pages ahead = streams_.fault(page);
  const std::uint64_t end = std::min(ahead.first + ahead.count, segment_.pages());
  try {
    for (std::uint64_t next = ahead.first; next < end; ++next)
      if (!pages_.contains(next)) begin_fetch(next, next == ahead.first ? Reason::mark : Reason::ahead);
  } catch (const std::bad_alloc&) {
    // Nobody has asked for these yet.
  }
}

/// Somebody has come to a mark: now its first bytes come, too. False: it is missing as a whole again.
bool WindowPages::bring_head(std::uint64_t number, Page& page) {
  const std::unique_ptr<std::byte[]> head = std::move(page.head);
  if (faults_.fill(offset_of(number), head.get(), head_bytes_, true) == 0) return true;
  drop(number);
  return false;
}

void WindowPages::begin_fetch(std::uint64_t number, Reason reason) {
  Page& page = pages_[number];
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

Task<> WindowPages::fetch(std::uint64_t number) {
  std::exception_ptr error;
  bool reserved = false;
  try {
    co_await reserve();
    reserved = true;
    co_await read_and_install(number);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    if (reserved) --resident_;
    refuse(number, error);
  }
  changed();
  make_room();
}

/// A page that is being read.
class WindowPages::Reading {
 public:
  explicit Reading(WindowPages& pages) noexcept : pages_(pages) { ++pages_.reading_; }
  ~Reading() {
    --pages_.reading_;
    pages_.read_.set();
    pages_.read_.reset();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  WindowPages& pages_;
};

/// Few large pages at a time: a device that brings all that it was asked for at once does nothing while they are
/// copied.
Task<> WindowPages::read_and_install(std::uint64_t number) {
  while (reading_ >= reading_max_) co_await read_;
  std::optional<Reading> reading(std::in_place, *this);
  const PinnedPage pinned = co_await segment_.pin(number);
  reading.reset();
  if (page_bytes_ >= kLargePage) {
    // The next read is asked for in the loop's next turn, and sent with the one after that: not after this copy.
    co_await yield();
    co_await yield();
  }
  install(number, pinned);
}

void WindowPages::install(std::uint64_t number, const PinnedPage& pinned) {
  Page& page = pages_.at(number);
  std::span<const std::byte> bytes = pinned.bytes();
  bool frozen = pinned.frozen();
  page.state = State::clean;
  if (page.store_waits) {
    make_dirty(page, bytes);
    // Others may be writing to the cached page: window and copy must be of the same moment.
    if (!whole_pages_) bytes = {page.before.get(), page_bytes_};
    frozen = true;
  }
  const int error = fill(number, page, bytes, frozen);
  if (error != 0) page.state = State::fetching;
  check(error, "filling", number);
  ++counts_.fetched;
  if (!page.wanted) ++counts_.read_ahead;
  page.used = evicted_[number % evicted_.size()] == number;  // it came back soon: it is in use
  enqueue(number, page);
}

/// Of a clean or dirty page; the clean one may become dirty.
int WindowPages::fill(std::uint64_t number, Page& page, std::span<const std::byte> bytes, bool frozen) {
  const std::size_t offset = offset_of(number);
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
      make_dirty(page, bytes);
      return faults_.unprotect(offset, page_bytes_);  // wakes, too
    }
  }
  faults_.wake(offset, page_bytes_);
  return 0;
}

int WindowPages::fill_behind_head(std::uint64_t number, Page& page, std::span<const std::byte> bytes) {
  page.head = std::make_unique_for_overwrite<std::byte[]>(head_bytes_);
  std::memcpy(page.head.get(), bytes.data(), head_bytes_);
  if (page_bytes_ == head_bytes_) return 0;
  const int error =
      faults_.fill(offset_of(number) + head_bytes_, bytes.data() + head_bytes_, page_bytes_ - head_bytes_, true);
  if (error != 0) page.head.reset();
  return error;
}

void WindowPages::refuse(std::uint64_t number, const std::exception_ptr& error) {
  Page& page = pages_.at(number);
  if (!page.wanted || scope_.cancelled()) {
    pages_.erase(number);
    return faults_.wake(offset_of(number), page_bytes_);
  }
  ++counts_.refused;
  page.state = State::refused;
  const std::string what = fmt::format(
      "page {} of a mapped segment can't be had; whoever touches its window at bytes {} to {} gets a signal", number,
      offset_of(number), offset_of(number) + page_bytes_);
  report_failure(rank_.id(), what.c_str(), error);
  const int refused = faults_.refuse(offset_of(number), page_bytes_);
  CORACLE_ASSERT(refused == 0, "the kernel can't refuse a page of a window (error {}): its users would hang", refused);
}

// --- stores ---

/// `bytes`: what the page holds before any store, all of it.
void WindowPages::make_dirty(Page& page, std::span<const std::byte> bytes) {
  if (!whole_pages_) {
    page.before = std::make_unique_for_overwrite<std::byte[]>(page_bytes_);
    std::memcpy(page.before.get(), bytes.data(), page_bytes_);
  }
  page.store_waits = false;
  page.state = State::dirty;
}

void WindowPages::allow_stores(std::uint64_t number, Page& page) {
  make_dirty(page, {faults_.data() + offset_of(number), page_bytes_});
  const int error = faults_.unprotect(offset_of(number), page_bytes_);
  CORACLE_ASSERT(error == 0, "the kernel does not unprotect page {} of a window: error {}", number, error);
}

/// Nothing of it is seen to change between the protection and the end of the put.
Task<> WindowPages::write_back(std::uint64_t number) {
  check(faults_.protect(offset_of(number), page_bytes_), "protecting", number);
  pages_.at(number).state = State::cleaning;
  std::exception_ptr error;
  try {
    if (whole_pages_)
      co_await segment_.put(offset_of(number), bytes_of(number));
    else
      co_await write_changed(number);
  } catch (...) {
    error = std::current_exception();
  }
  Page& page = pages_.at(number);
  if (error) {
    page.state = State::dirty;
    page.store_waits = false;
    faults_.unprotect(offset_of(number), page_bytes_);
    changed();
    std::rethrow_exception(error);
  }
  ++counts_.written_back;
  page.before.reset();
}

Task<> WindowPages::write_changed(std::uint64_t number) {
  const PinnedPage pinned = co_await segment_.pin(number, true);
  copy_changed(pages_.at(number).before.get(), bytes_of(number), pinned.writable().data());
}

// --- eviction ---

Task<> WindowPages::reserve() {
  std::size_t failures = 0;
  while (resident_ >= resident_max_) {
    std::uint64_t victim = kNoPage;
    if (!find_victim(victim)) {
      co_await changed_;
      continue;
    }
    try {
      co_await evict(victim);
      ++counts_.evicted;
    } catch (...) {
      // Its stores are kept; perhaps another page can go. Not when this window ends: the segment may be gone then.
      if (scope_.cancelled()) throw;
      if (++failures > resident_max_) throw;
    }
  }
  ++resident_;
}

/// Before it is needed, and many at once: taking a page away interrupts all threads that run.
void WindowPages::make_room() {
  if (spare_ < 2 || resident_ + 1 < resident_max_ || !leaving_.empty()) return;
  std::uint64_t victim = kNoPage;
  while (leaving_.size() < spare_ && find_victim(victim)) {
    Page& page = pages_.at(victim);
    if (page.state == State::dirty) {
      page.queued = true;
      queue_.push_front(victim);
      break;
    }
    evicted_[victim % evicted_.size()] = victim;
    if (page.moved)
      huge_pages_.take_out(offset_of(victim));
    else
      leaving_.push_back(offset_of(victim));
    pages_.erase(victim);
    --resident_;
    ++counts_.evicted;
  }
  faults_.drop_all(leaving_, page_bytes_);
  leaving_.clear();
  changed();
}

bool WindowPages::find_victim(std::uint64_t& number) {
  for (std::size_t left = 2 * queue_.size(); left > 0 && !queue_.empty(); --left) {
    number = queue_.front();
    queue_.pop_front();
    const auto found = pages_.find(number);
    if (found == pages_.end() || !found->second.queued) continue;
    Page& page = found->second;
    page.queued = false;
    const bool movable = page.state == State::clean || page.state == State::dirty;
    if (movable && !page.used) return true;
    page.used = false;
    if (movable || page.state == State::cleaning) enqueue(number, page);
  }
  return false;
}

Task<> WindowPages::evict(std::uint64_t number) {
  std::exception_ptr error;
  if (pages_.at(number).state == State::dirty) {
    try {
      co_await write_back(number);
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (error) {
    enqueue(number, pages_.at(number));
    std::rethrow_exception(error);
  }
  evicted_[number % evicted_.size()] = number;
  drop(number);
}

void WindowPages::enqueue(std::uint64_t number, Page& page) {
  if (page.queued) return;
  page.queued = true;
  queue_.push_back(number);
}

/// Of a page that is present and not dirty, or refused. Whoever waits to store looks again, and finds it missing.
void WindowPages::drop(std::uint64_t number) {
  const auto page = pages_.find(number);
  if (page->second.state == State::refused) {
    faults_.allow(offset_of(number), page_bytes_);
  } else {
    if (page->second.moved)
      huge_pages_.take_out(offset_of(number));
    else
      faults_.drop(offset_of(number), page_bytes_);
    --resident_;
  }
  pages_.erase(page);
  faults_.wake(offset_of(number), page_bytes_);
  changed();
}

void WindowPages::changed() noexcept {
  changed_.set();
  changed_.reset();
}

// --- all of them ---

struct WindowPages::Sweep {
  std::vector<std::uint64_t> numbers;
  bool dropping;
  std::exception_ptr error;
};

Task<> WindowPages::clean_all() {
  return sweep(false);
}
Task<> WindowPages::drop_all() {
  return sweep(true);
}

Task<> WindowPages::sweep(bool dropping) {
  constexpr std::size_t kAtOnce = 16;
  Sweep all{{}, dropping, nullptr};
  for (const auto& [number, page] : pages_)
    if (dropping || page.state == State::dirty || page.state == State::cleaning) all.numbers.push_back(number);
  std::sort(all.numbers.begin(), all.numbers.end(), std::greater<>());
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  for (std::size_t i = 0; i < kAtOnce && !all.numbers.empty(); ++i) scope.spawn(sweep_some(all));
  co_await scope.join();
  if (dropping) tidy_queue();
  if (all.error) std::rethrow_exception(all.error);
}

/// Without this, entries of pages that have gone would pile up where nothing is ever evicted.
void WindowPages::tidy_queue() {
  std::erase_if(queue_, [this](std::uint64_t number) {
    const auto found = pages_.find(number);
    return found == pages_.end() || !std::exchange(found->second.queued, false);
  });
  for (const std::uint64_t number : queue_) pages_.at(number).queued = true;
}

Task<> WindowPages::sweep_some(Sweep& sweep) {
  while (!sweep.numbers.empty()) {
    const std::uint64_t number = sweep.numbers.back();
    sweep.numbers.pop_back();
    try {
      co_await sweep_one(number, sweep.dropping);
    } catch (...) {
      if (!sweep.error) sweep.error = std::current_exception();
    }
  }
}

Task<> WindowPages::sweep_one(std::uint64_t number, bool dropping) {
  auto found = pages_.find(number);
  while (found != pages_.end() && (found->second.state == State::fetching || found->second.state == State::cleaning)) {
    co_await changed_;
    found = pages_.find(number);
  }
  if (found == pages_.end()) co_return;
  const State state = found->second.state;
  if (dropping && state == State::refused) {
    drop(number);
  } else if (dropping) {
    co_await evict(number);
  } else if (state == State::dirty) {
    co_await write_back(number);
    Page& page = pages_.at(number);
    page.state = State::clean;
    if (page.store_waits) allow_stores(number, page);
    changed();
  }
}

}  // namespace coracle::internals::storage
