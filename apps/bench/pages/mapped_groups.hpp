// MappedGroups: the memory of one job of `coracle bench mapped`, in control groups; and what its rank is told of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "apps/bench/pages/memory_group.hpp"

namespace coracle::internals::bench {

/// The file's size in units of the memory's.
inline constexpr std::uint64_t kMappedFileFactor = 8;

/// What the memory groups allow on top of the memory for pages: for the program's own. Ours has the runtime, page
/// tables, and what file, directory and cache note of each page of 4 KiB; mmap's reader is small.
constexpr std::uint64_t own_bytes_of_rank(std::uint64_t memory_bytes) noexcept {
  return (40 << 20) + kMappedFileFactor * memory_bytes / 4096 * 384;
}
constexpr std::uint64_t kOwnBytesOfReader = 4 << 20;

/// The memory groups of one job, where they can be had; this process is in the rank's.
class MappedGroups {
 public:
  MappedGroups(std::uint64_t memory_bytes, bool with_rival);
  /// Folders "own", "mmap" and "rival"; "" for one that isn't there. And "none": why there are none, or "".
  nlohmann::json told() const;

 private:
  std::optional<MemoryGroup> own_;
  std::optional<MemoryGroup> mmap_;
  std::optional<MemoryGroup> rival_;
  std::optional<MemoryGroup::Stay> stay_;
  std::string reason_;
};

}  // namespace coracle::internals::bench
