// PinnedPage: a page in the cache, to be read or written in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"

namespace coracle::internals {

namespace storage {
class PageCache;
}

/// A page held in the cache for zero-copy access as long as this lives. Hold few and not for long: writers elsewhere
/// wait for readers' pins, and everybody for a writer's.
class [[nodiscard]] PinnedPage {
 public:
  /// Throws Error (out_of_segment, and whatever the page's home reports).
  static Task<PinnedPage> pin(storage::PageCache& cache, std::uint64_t page, bool writing);
  /// Takes a pin over.
  PinnedPage(storage::PageCache& cache, std::uint32_t frame, bool writing) noexcept
      : cache_(&cache), frame_(frame), writing_(writing) {}
  PinnedPage(PinnedPage&& other) noexcept;
  PinnedPage& operator=(PinnedPage&& other) noexcept;
  ~PinnedPage();
  std::span<const std::byte> bytes() const noexcept;
  /// Nobody writes to it before the caller suspends. False: perhaps somebody does.
  bool frozen() const noexcept;
  /// Only of a page pinned for writing.
  std::span<std::byte> writable() const noexcept;

 private:
  void release() noexcept;
  storage::PageCache* cache_ = nullptr;
  std::uint32_t frame_ = 0;
  bool writing_ = false;
};

}  // namespace coracle::internals
