#include "storage/mapped/window_pages.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kPlaces = 16;

}  // namespace

std::size_t HugePagePool::bytes_beside(std::size_t page_bytes) noexcept {
  return page_bytes % kHugePageBytes == 0 ? kPlaces * page_bytes : 0;
}

HugePagePool::HugePagePool(Userfault& faults, std::size_t page_bytes) : faults_(faults), page_bytes_(page_bytes) {
  if (bytes_beside(page_bytes) == 0 || !faults.moves()) return;
  full_.reserve(kPlaces);
  for (std::size_t i = 0; i < kPlaces; ++i) vacant_.push_back(faults.beside() + i * page_bytes);
  void* memory = ::mmap(nullptr, page_bytes + kHugePageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw_errno(errno, fmt::format("mmap of {} bytes beside a window", page_bytes));
  ::madvise(memory, page_bytes + kHugePageBytes, MADV_HUGEPAGE);  // only a hint
  nursery_ = static_cast<std::byte*>(memory);
}

HugePagePool::~HugePagePool() {
  if (usable()) ::munmap(nursery_, page_bytes_ + kHugePageBytes);
}

int HugePagePool::fill(std::size_t offset, const std::byte* source) noexcept {
  if (full_.empty()) {
    const auto start = reinterpret_cast<std::uintptr_t>(nursery_);
    std::byte* fresh = nursery_ + (kHugePageBytes - start % kHugePageBytes) % kHugePageBytes;
    std::memcpy(fresh, source, page_bytes_);
    return faults_.move_in(offset, fresh, page_bytes_);
  }
  std::byte* place = full_.back();
  full_.pop_back();
  vacant_.push_back(place);
  std::memcpy(place, source, page_bytes_);
  const int error = faults_.move_in(offset, place, page_bytes_);
  if (error != 0) ::madvise(place, page_bytes_, MADV_DONTNEED);
  return error;
}

void HugePagePool::take_out(std::size_t offset) noexcept {
  if (vacant_.empty()) return faults_.drop(offset, page_bytes_);
  std::byte* place = vacant_.back();
  if (faults_.move_out(offset, place, page_bytes_) != 0) return;
  vacant_.pop_back();
  full_.push_back(place);
}

namespace {

constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr std::size_t kPagesMin = 4;
constexpr std::size_t kSpareMax = 32;

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

WindowPages::WindowPages(PagedSegment& segment, Userfault& faults, Scope& scope, const MappedOptions& options)
    : segment_(segment),
      faults_(faults),
      scope_(scope),
      page_bytes_(segment.page_bytes()),
      resident_max_(std::max<std::size_t>(options.window_bytes / page_bytes_, kPagesMin)),
      spare_(std::min(resident_max_ / 16, kSpareMax)),
      whole_pages_(options.whole_pages),
      evicted_(std::bit_ceil(std::min<std::size_t>(resident_max_, segment.pages())), kNoPage),
      huge_pages_(faults, page_bytes_) {
  leaving_.reserve(spare_);
}

std::span<std::byte> WindowPages::bytes_of(std::uint64_t number) const noexcept {
  const std::size_t offset = offset_of(number);
  return {faults_.data() + offset, std::min<std::size_t>(page_bytes_, segment_.bytes() - offset)};
}

WindowPages::Page* WindowPages::find(std::uint64_t number) noexcept {
  const auto found = pages_.find(number);
  return found == pages_.end() ? nullptr : &found->second;
}

void WindowPages::check(int error, const char* what, std::uint64_t number) {
  if (error != 0) throw_errno(error, fmt::format("{} page {} in the window of a mapped segment", what, number));
}

void WindowPages::came(std::uint64_t number, Page& page) {
  page.used = evicted_[number % evicted_.size()] == number;  // it came back soon: it is in use
  enqueue(number, page);
}

void WindowPages::wake(std::uint64_t number) noexcept {
  faults_.wake(offset_of(number), page_bytes_);
}

// --- stores ---

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
  if (pages_.at(number).state == State::dirty) {
    try {
      co_await write_back(number);
    } catch (...) {
      enqueue(number, pages_.at(number));
      throw;
    }
  }
  evicted_[number % evicted_.size()] = number;
  drop(number);
}

void WindowPages::enqueue(std::uint64_t number, Page& page) {
  if (page.queued) return;
  page.queued = true;
  queue_.push_back(number);
}

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
  wake(number);
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
