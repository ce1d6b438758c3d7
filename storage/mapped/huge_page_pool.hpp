// HugePagePool: brings pages into a window as huge pages that are moved, instead of having the kernel copy them in
// pages of 4 KiB, and takes them out again for the next ones.
#pragma once

#include <cstddef>
#include <vector>

#include "storage/mapped/userfault.hpp"

namespace coracle::internals::storage {

/// Of windows whose pages are made of whole huge pages; else it does nothing. Used by the loop's thread.
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

}  // namespace coracle::internals::storage
