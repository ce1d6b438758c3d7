// PageCache: a rank's way to the pages of one segment: hits by load and store in the frames of its node's cache, misses
// through that cache's controller, which may be this rank itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/controller_link.hpp"
#include "storage/pages/frames.hpp"
#include "storage/pages/read_ahead.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::internals::storage {

class CacheController;

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
  ~PageCache() = default;
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;

  const Shape& shape() const noexcept { return shape_; }
  Rank& rank() const noexcept { return rank_; }
  const Frames& frames() const noexcept { return frames_; }
  std::uint64_t hits() const noexcept { return hits_; }

  /// Copies from the beginning of the range as much as lies in cached pages; gives the bytes done. 0 for a range
  /// outside of the segment.
  std::size_t copy_cached(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes) noexcept;
  /// Copies all of it. Throws Error (out_of_segment, and whatever a page's home reports).
  Task<> copy(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  /// The frame of a page that is cached, pinned, to be released; Frames::kNone where it is not. Throws Error
  /// (out_of_segment).
  std::uint32_t try_pin(std::uint64_t page, bool writing);
  /// A frame with the page, pinned; release() it.
  Task<std::uint32_t> acquire(std::uint64_t page, bool writing) { return controller_.obtain(page, writing); }
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
  int page_shift_;
};

}  // namespace coracle::internals::storage
