// WindowPages: which pages of a paged segment are in a window, and in what state: which go, and how stores get back to
// the segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"
#include "storage/mapped/userfault.hpp"
#include "storage/options/mapped_options.hpp"

namespace coracle::internals {
class PagedSegment;
}

namespace coracle::internals::storage {

/// Brings pages into a window as huge pages that are moved, instead of having the kernel copy them in pages of 4 KiB,
/// and takes them out again for the next ones. Of windows whose pages are made of whole huge pages; else it does
/// nothing. Used by the loop's thread.
class HugePagePool {
 public:
  /// How much `faults` must have beside the window.
  static std::size_t bytes_beside(std::size_t page_bytes) noexcept;

  /// `page_bytes`: as bytes_beside() was given. Throws Error (ENOMEM).
  HugePagePool(Userfault& faults, std::size_t page_bytes);
  ~HugePagePool();
  HugePagePool(const HugePagePool&) = delete;
  HugePagePool& operator=(const HugePagePool&) = delete;

  bool usable() const noexcept { return nursery_ != nullptr; }

  /// Fills a missing page from `source`, which must not change meanwhile, and wakes nobody. 0 or an errno; then the
  /// page is still missing.
  int fill(std::size_t offset, const std::byte* source) noexcept;
  /// The page is missing afterwards.
  void take_out(std::size_t offset) noexcept;

 private:
  Userfault& faults_;
  std::size_t page_bytes_;
  std::byte* nursery_ = nullptr;    // one page, outside the window, where the kernel gives fresh memory
  std::vector<std::byte*> full_;    // places beside the window with memory,
  std::vector<std::byte*> vacant_;  // and without: nobody may touch them
};

/// Used by the loop's thread. All tasks must have ended before it does.
class WindowPages {
 public:
  WindowPages(PagedSegment& segment, Userfault& faults, Scope& scope, const MappedOptions& options);
  WindowPages(const WindowPages&) = delete;
  WindowPages& operator=(const WindowPages&) = delete;

  enum class State : std::uint8_t { fetching, clean, dirty, cleaning, refused };
  struct Page {
    State state = State::fetching;
    bool wanted = true;                   ///< Somebody waits for it; else it is only read ahead.
    bool store_waits = false;             ///< While it is fetched or cleaned.
    bool queued = false;                  ///< It has an entry in queue_.
    bool used = false;                    ///< It is not to go when its turn comes, but at the next.
    bool mark = false;                    ///< Whoever comes to it is to be noticed.
    bool moved = false;                   ///< Its memory is the stage's.
    std::unique_ptr<std::byte[]> before;  ///< What a dirty page held before the first store.
    std::unique_ptr<std::byte[]> head;    ///< Of a mark, clean: its first bytes, which are not in the window yet.
  };

  /// Null where it is neither there nor on its way.
  Page* find(std::uint64_t number) noexcept;
  Page& at(std::uint64_t number) { return pages_.at(number); }
  /// One that is not known yet, to be fetched; or nothing came of that.
  Page& add(std::uint64_t number) { return pages_[number]; }
  void erase(std::uint64_t number) noexcept { pages_.erase(number); }
  std::size_t offset_of(std::uint64_t number) const noexcept { return number * page_bytes_; }
  HugePagePool& huge_pages() noexcept { return huge_pages_; }
  MappedCounts& counts() noexcept { return counts_; }
  /// Throws Error unless `error` is 0.
  static void check(int error, const char* what, std::uint64_t number);

  /// Pages that may be there at once.
  std::size_t most() const noexcept { return resident_max_; }
  /// Waits until one more page may be in the window; it counts from then on.
  Task<> reserve();
  void release_room() noexcept { --resident_; }
  /// Before room is needed.
  void make_room();
  /// It is there now.
  void came(std::uint64_t number, Page& page);
  /// `bytes`: what the page holds before any store, all of it.
  void make_dirty(Page& page, std::span<const std::byte> bytes);
  void allow_stores(std::uint64_t number, Page& page);
  /// Of a page that is present and not dirty, or refused. Whoever waits to store looks again, and finds it missing.
  void drop(std::uint64_t number);
  /// Those who wait for it look again.
  void wake(std::uint64_t number) noexcept;
  void changed() noexcept;

  /// Writes all stores back to the segment; afterwards pages are there, as far as they were. Throws the first Error,
  /// after it has tried all; what could not be written stays.
  Task<> clean_all();
  /// The same, and each page is missing afterwards, also refused ones. Those that are fetched meanwhile stay.
  Task<> drop_all();

 private:
  using Pages = std::unordered_map<std::uint64_t, Page>;
  struct Sweep;

  bool find_victim(std::uint64_t& number);
  /// Of a clean or dirty page. Throws Error; it is dirty then.
  Task<> evict(std::uint64_t number);
  /// Of a dirty page, which is in state cleaning afterwards and protected. Throws Error; it is dirty then.
  Task<> write_back(std::uint64_t number);
  Task<> write_changed(std::uint64_t number);
  void enqueue(std::uint64_t number, Page& page);

  Task<> sweep(bool dropping);
  Task<> sweep_some(Sweep& sweep);
  void tidy_queue();
  Task<> sweep_one(std::uint64_t number, bool dropping);

  /// Of the page's bytes in the window, as far as the segment goes.
  std::span<std::byte> bytes_of(std::uint64_t number) const noexcept;

  PagedSegment& segment_;
  Userfault& faults_;
  Scope& scope_;
  std::size_t page_bytes_;
  std::size_t resident_max_;
  std::size_t spare_;  ///< Pages that go together, where they need not be written back.
  bool whole_pages_;
  std::size_t resident_ = 0;  ///< Present, or room reserved.
  Pages pages_;
  std::deque<std::uint64_t> queue_;     ///< For eviction, oldest first; also entries of pages that have gone.
  std::vector<std::uint64_t> evicted_;  ///< The latest, each at its number modulo the size.
  HugePagePool huge_pages_;
  std::vector<std::size_t> leaving_;  ///< Offsets, of make_room().
  Event changed_;
  MappedCounts counts_;
};

}  // namespace coracle::internals::storage
