// PageCache: a rank's way to the pages of one segment: hits by load and store in the frames of its node's cache, misses
// through that cache's controller, which may be this rank itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/core/task.hpp"
#include "storage/options/paged_options.hpp"
#include "storage/pages/frames.hpp"
#include "storage/pages/read_ahead.hpp"

namespace coracle::internals {
class Message;
class Rank;
}  // namespace coracle::internals

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
  ~PageCache();
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
  Task<std::uint32_t> acquire(std::uint64_t page, bool writing);
  void release(std::uint32_t frame, bool writing) noexcept;
  /// Nobody writes to a pinned frame before the caller suspends: only this thread could allow it.
  bool frozen(std::uint32_t frame) const noexcept { return own_ != nullptr && !frames_.head(frame).may_change(); }
  /// Asks for pages that will be read soon.
  void prefetch(std::uint64_t first, std::uint64_t count) noexcept;
  /// Starts a copy that nobody awaits by itself.
  void start_implicit(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  /// Waits for all of these; throws the first failure since the last time.
  Task<> implicit_done();
  /// Throws Error (out_of_segment).
  void check_range(std::uint64_t offset, std::uint64_t bytes, const char* what) const;

 private:
  struct Copying;
  struct Asked;
  struct Implicit;
  static void serve_acquire(Rank& rank, const Message& message);
  static Task<> answer_acquire(Rank& rank, std::uint32_t asker, std::uint64_t cookie, std::uint32_t segment,
                               std::uint64_t page, bool writing, const std::byte* whole);
  static void take_acquired(Rank& rank, const Message& message);
  static void serve_prefetch(Rank& rank, const Message& message);
  static void serve_unpinned(Rank& rank, const Message& message);
  void tell_unpinned() noexcept;

  Task<std::uint32_t> ask_controller(std::uint64_t page, bool writing, const std::byte* whole);
  Task<> write_whole(std::uint64_t page, const std::byte* source);
  Task<> copy_range(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  Task<> copy_page(bool writing, std::uint64_t offset, std::byte* local, std::size_t bytes);
  Task<> copy_pages(Copying& copying);
  Task<> help(Copying& copying);
  std::size_t copy_hits(bool writing, bool goes_ahead, std::uint64_t offset, std::byte* local,
                        std::size_t bytes) noexcept;
  void read_ahead(std::uint64_t first, std::uint64_t last) noexcept;
  Task<> finish_implicit(std::shared_ptr<Implicit> implicit, bool writing, std::uint64_t offset, std::byte* local,
                         std::size_t bytes);

  Rank& rank_;
  Shape shape_;
  Frames frames_;
  CacheController* own_;
  ReadAhead read_ahead_;
  std::shared_ptr<Implicit> implicit_;
  std::uint64_t hits_ = 0;
  bool controller_reads_here_;  // all memory of this rank, not its segment alone
  int page_shift_;
};

}  // namespace coracle::internals::storage
