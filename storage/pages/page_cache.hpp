// PageCache: a rank's way to the pages of one segment: hits by load and store in the frames of its node's cache, misses
// through that cache's controller, which may be this rank itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/layout/layout.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/frames.hpp"
#include "storage/pages/read_ahead.hpp"

namespace coracle::internals {
class Message;
class Rank;
}  // namespace coracle::internals

namespace coracle::internals::storage {

class CacheController;

/// How a rank asks the controller of its cache, which is this rank itself or another of its node. Used by its own
/// rank's thread.
class ControllerLink {
 public:
  /// `own`: the controller, when that is this rank; else null. It must outlive this.
  ControllerLink(Rank& rank, std::uint32_t controller, std::uint32_t segment, const Frames& frames,
                 CacheController* own) noexcept
      : rank_(rank), controller_(controller), segment_(segment), frames_(frames), own_(own) {}

  bool is_here() const noexcept { return own_ != nullptr; }
  /// Whether the controller reads all memory of this rank, not its segment alone.
  bool reads_here() const noexcept;
  /// As the controller's. `whole` only where it reads that here.
  Task<std::uint32_t> obtain(std::uint64_t page, bool writing, const std::byte* whole = nullptr);
  void unpinned() noexcept;
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;

 private:
  struct Asked;
  Task<std::uint32_t> ask(std::uint64_t page, bool writing, const std::byte* whole);
  static void serve_acquire(Rank& rank, const Message& message);
  static Task<> answer_acquire(Rank& rank, std::uint32_t asker, std::uint64_t cookie, std::uint32_t segment,
                               std::uint64_t page, bool writing, const std::byte* whole);
  static void take_acquired(Rank& rank, const Message& message);

  Rank& rank_;
  std::uint32_t controller_;
  std::uint32_t segment_;
  Frames frames_;
  CacheController* own_;
};

/// Used by its own rank's thread.
class PageCache {
 public:
  struct Shape {
    std::uint32_t segment = 0;  ///< Its number, the same at every rank.
    std::uint64_t bytes = 0;
    std::uint32_t page_bytes = 0;
    std::uint32_t controller = 0;                   ///< Rank.
    std::optional<std::uint32_t> read_ahead_pages;  ///< As PagedOptions.
  };
  /// `own`: the controller, when that is this rank; else null. It must outlive this.
  PageCache(Rank& rank, const Shape& shape, const Frames& frames, CacheController* own);
  /// Tells tools how often its pages were used.
  ~PageCache();
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  Rank& rank() const noexcept { return rank_; }
  const Frames& frames() const noexcept { return frames_; }
  /// Uses of pages that were here.
  std::uint64_t hits() const noexcept { return hits_; }

  /// Copies from the beginning of the range as much as lies in cached pages; gives the bytes done. 0 for a range
  /// outside of the segment.
  std::size_t copy_cached(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) noexcept;
  /// Copies all of it. Throws Error (out_of_segment, and whatever a page's home reports).
  Task<> copy(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  /// The frame of a page that is cached, pinned, to be released; Frames::kNone where it is not. Throws Error
  /// (out_of_segment).
  std::uint32_t try_pin(std::uint64_t page, bool writing);
  /// The same, of a page of the segment, without reading ahead.
  std::uint32_t try_pin_alone(std::uint64_t page, bool writing) noexcept;
  /// A frame with the page, which is not here, pinned; release() it.
  Task<std::uint32_t> acquire(std::uint64_t page, bool writing) {
    ++absent_;
    return controller_.obtain(page, writing);
  }
  void release(std::uint32_t frame, bool writing) noexcept;
  /// Nobody writes to a pinned frame before the caller suspends: only this thread could allow it.
  bool frozen(std::uint32_t frame) const noexcept { return controller_.is_here() && !frames_.head(frame).may_change(); }
  /// Asks for pages that will be read soon.
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;
  /// Throws Error (out_of_segment).
  void check_range(std::uint64_t offset, std::uint64_t bytes, const char* what) const;

 private:
  struct Copying;
  Task<> write_whole(std::uint64_t page, const std::byte* source);
  Task<> copy_range(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  Task<> copy_page(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  Task<> copy_pages(Copying& copying);
  Task<> help(Copying& copying);
  std::size_t copy_hits(bool writing, bool goes_ahead, std::uint64_t offset, std::byte* local,
                        std::size_t bytes) noexcept;
  void read_ahead(std::uint64_t first, std::uint64_t last) noexcept;

  Rank& rank_;
  Shape shape_;
  Frames frames_;
  ControllerLink controller_;
  ReadAhead read_ahead_;
  std::uint64_t hits_ = 0;
  std::uint64_t absent_ = 0;  // uses of pages that were not here
  int page_shift_;
};

/// Transfers between scattered bytes of a paged segment and scattered local memory, straight from page to layout: what
/// goes between `count` repetitions of `layout` at `offset` of the segment and local memory; all that it refers to
/// must live until it has finished.
struct ScatteredPages {
  PageCache& cache;
  bool writing;  ///< Into the segment; then `local` is only read.
  std::uint64_t offset;
  const Layout& layout;
  std::uint64_t count;
  ScatteredTarget local;
};

/// Throws Error (out_of_segment; bad_input when the sides differ in bytes; what the pages' homes report).
Task<> copy_scattered(ScatteredPages what);

}  // namespace coracle::internals::storage
