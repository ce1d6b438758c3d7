// WindowPages: which pages of a paged segment are in a window, and in what state; serves the faults of those who touch
// it.
#pragma once

#include <array>
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
#include "storage/mapped/fault_streams.hpp"
#include "storage/mapped/huge_page_pool.hpp"
#include "storage/mapped/userfault.hpp"
#include "storage/options/mapped_options.hpp"

namespace coracle::internals {
class PagedSegment;
class PinnedPage;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

/// Used by the loop's thread. All tasks must have ended before it does.
class WindowPages {
 public:
  WindowPages(Rank& rank, PagedSegment& segment, Userfault& faults, Scope& scope, const MappedOptions& options);
  WindowPages(const WindowPages&) = delete;
  WindowPages& operator=(const WindowPages&) = delete;

  /// Serves what take() gave. What can't be served gives its threads a signal, as a page that can't be read.
  void serve(std::span<const Userfault::Fault> faults);
  /// Writes all stores back to the segment; afterwards pages are there, as far as they were. Throws the first Error,
  /// after it has tried all; what could not be written stays.
  Task<> clean_all();
  /// The same, and each page is missing afterwards, also refused ones. Those that are fetched meanwhile stay.
  Task<> drop_all();

  const MappedCounts& counts() const noexcept { return counts_; }

 private:
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
  using Pages = std::unordered_map<std::uint64_t, Page>;
  struct Sweep;
  class Reading;

  void serve_one(const Userfault::Fault& fault);
  void give_up(const Userfault::Fault& fault, const std::exception_ptr& error) noexcept;
  void serve_known(std::uint64_t number, Page& page, bool writing);
  void fetch_ahead(std::uint64_t page);
  enum class Reason { load, store, ahead, mark };
  void begin_fetch(std::uint64_t number, Reason reason);
  Task<> fetch(std::uint64_t number);
  void install(std::uint64_t number, const PinnedPage& pinned);
  int fill(std::uint64_t number, Page& page, std::span<const std::byte> bytes, bool frozen);
  int fill_behind_head(std::uint64_t number, Page& page, std::span<const std::byte> bytes);
  bool bring_head(std::uint64_t number, Page& page);
  void refuse(std::uint64_t number, const std::exception_ptr& error);
  Task<> read_and_install(std::uint64_t number);
  /// Waits until one more page may be in the window; it counts from then on.
  Task<> reserve();
  void make_room();
  bool find_victim(std::uint64_t& number);
  /// Of a clean or dirty page. Throws Error; it is dirty then.
  Task<> evict(std::uint64_t number);
  /// Of a dirty page, which is in state cleaning afterwards and protected. Throws Error; it is dirty then.
  Task<> write_back(std::uint64_t number);
  Task<> write_changed(std::uint64_t number);
  void make_dirty(Page& page, std::span<const std::byte> bytes);
  void allow_stores(std::uint64_t number, Page& page);
  void drop(std::uint64_t number);
  void enqueue(std::uint64_t number, Page& page);
  void changed() noexcept;

  Task<> sweep(bool dropping);
  Task<> sweep_some(Sweep& sweep);
  void tidy_queue();
  Task<> sweep_one(std::uint64_t number, bool dropping);

  std::size_t offset_of(std::uint64_t number) const noexcept { return number * page_bytes_; }
  /// Of the page's bytes in the window, as far as the segment goes.
  std::span<std::byte> bytes_of(std::uint64_t number) const noexcept;

  Rank& rank_;
  PagedSegment& segment_;
  Userfault& faults_;
  Scope& scope_;
  std::size_t page_bytes_;
  std::size_t head_bytes_;  ///< Of the smallest piece that can be missing.
  std::size_t resident_max_;
  std::size_t spare_;        ///< Pages that go together, where they need not be written back.
  std::size_t reading_max_;  ///< Pages that are read at the same time.
  bool whole_pages_;
  std::size_t resident_ = 0;  ///< Present, or room reserved.
  std::size_t reading_ = 0;
  Event read_;  ///< A page has been read: set and reset.
  Pages pages_;
  std::deque<std::uint64_t> queue_;     ///< For eviction, oldest first; also entries of pages that have gone.
  std::vector<std::uint64_t> evicted_;  ///< The latest, each at its number modulo the size.
  FaultStreams streams_;
  HugePagePool huge_pages_;
  std::vector<std::size_t> leaving_;  ///< Offsets, of make_room().
  Event changed_;
  MappedCounts counts_;
};

}  // namespace coracle::internals::storage
