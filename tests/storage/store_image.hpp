// StoreImage: a store's file as bytes, to be damaged on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/event_loop.hpp"
#include "storage/store/store_format.hpp"
#include "storage/store/store_load.hpp"

namespace coracle::internals::test {

class StoreImage {
 public:
  /// A store of 40 pages with two checkpoints, then so many flushes that the log was folded, and one flush in the log.
  static void make(EventLoop& loop, const std::string& path);

  explicit StoreImage(const std::string& path);
  void save() const;

  std::span<std::byte> block(std::uint64_t offset) { return std::span(bytes).subspan(offset, storage::kBlockBytes); }
  void flip(std::uint64_t offset) { bytes[offset] ^= std::byte{16}; }
  /// Gives the block at `offset` a seal that fits what it holds now; `good`: the file before it was damaged.
  void seal(std::uint64_t offset, const StoreImage& good);
  unsigned manifest_which() const;
  storage::Manifest manifest() const;
  /// Where the page lies according to the newest table and the log.
  std::uint64_t latest_slot(std::uint64_t page) const;

  std::string path;
  std::vector<std::byte> bytes;
  storage::StorePlan plan;

 private:
  static std::vector<std::byte> load(const std::string& path);
  storage::Superblock superblock() const;
};

}  // namespace coracle::internals::test
