// MappedOptions: how a window on a paged segment behaves.
#pragma once

#include <cstdint>

namespace coracle::internals {

struct MappedOptions {
  /// Of memory for pages in the window, at most; at least 4 pages. It comes on top of the segment's cache.
  std::uint64_t window_bytes = 64ULL << 20;
  /// Fetched into the window ahead of threads that go through it in order, at most; 0: none.
  std::uint32_t read_ahead_pages = 16;
  /// Pages are written back as a whole. Saves a copy of each page at its first store; but what other ranks have written
  /// meanwhile to other bytes of the page is lost. Off: only bytes that have changed are written.
  bool whole_pages = false;
  /// While functions run in the window, they share a core with the rank's loop: a fault is then a switch between
  /// threads, and not the wake-up of another core. For one thread that goes through the window at random.
  bool one_core = false;
};

/// Counted since the window was made.
struct MappedCounts {
  std::uint64_t faults = 0;        ///< Reported by the kernel: missing pages and first stores.
  std::uint64_t fetched = 0;       ///< Pages.
  std::uint64_t read_ahead = 0;    ///< Of these, without having been touched.
  std::uint64_t evicted = 0;       ///< To make room.
  std::uint64_t written_back = 0;  ///< Pages whose stores went to the segment.
  std::uint64_t refused = 0;       ///< Pages that could not be read and were touched.
};

}  // namespace coracle::internals
