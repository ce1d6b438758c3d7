// WriteBack: brings the dirty pages of a cache home, for those who wait for it.
#pragma once

#include <cstdint>

#include "runtime/core/task.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/dirty_pages.hpp"
#include "storage/pages/frame_pool.hpp"
#include "storage/pages/page_coherence.hpp"

namespace coracle::internals::storage {

/// Used by its rank's thread.
class WriteBack {
 public:
  /// What it refers to must outlive it.
  WriteBack(CacheTasks& tasks, FramePool& pool, DirtyPages& dirty, PageCoherence& coherence) noexcept
      : tasks_(tasks), pool_(pool), dirty_(dirty), coherence_(coherence) {}

  /// Until one more page may be dirty. Throws Error where none can be written home.
  Task<> wait_for_room();
  /// All pages that are dirty now are written home and stay as clean ones. Throws the first failure.
  Task<> clean_all();
  /// Begins to write a page home, if that can be done now.
  void recall(std::uint64_t page);

 private:
  CacheTasks& tasks_;
  FramePool& pool_;
  DirtyPages& dirty_;
  PageCoherence& coherence_;
};

}  // namespace coracle::internals::storage
