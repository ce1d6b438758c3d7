// What `coracle bench mapped` is to measure: as words for the command line and for its rank, and as values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/coracle/bench/memory_group.hpp"

namespace coracle::internals::bench {

/// As the user wrote them, and what the command tells its rank.
struct MappedWords {
  std::string memory_bytes = "128M";
  std::string rival = {};       ///< Another program that reads the file; empty: none.
  std::string own_group = {};   ///< Folder of the memory group that the rank is in; empty: of none.
  std::string mmap_group = {};  ///< Of that for mmap's reader.
  std::string rival_group = {};
  std::string no_group = {};  ///< Why there are none.
};

struct MappedBenchOptions {
  static constexpr std::uint64_t kFileFactor = 8;  ///< The file's size in units of the memory's.

  std::string path;  ///< Of a folder.
  std::uint64_t memory_bytes = 0;
  std::string rival;
  std::string own_group;
  std::string mmap_group;
  std::string rival_group;
  std::string no_group;

  std::uint64_t file_bytes() const noexcept { return kFileFactor * memory_bytes; }
};

/// What the memory groups allow on top of the memory for pages: for the program's own. Ours has the runtime, page
/// tables, and what file, directory and cache note of each page of 4 KiB; mmap's reader is small.
constexpr std::uint64_t own_bytes_of_rank(std::uint64_t memory_bytes) noexcept {
  return (40 << 20) + MappedBenchOptions::kFileFactor * memory_bytes / 4096 * 384;
}
constexpr std::uint64_t kOwnBytesOfReader = 4 << 20;

/// Adds the user's option to a command; `words` must outlive it.
void add_mapped_options(CLI::App& command, MappedWords& words);
/// And those of the rank's command.
void add_mapped_rank_options(CLI::App& command, MappedWords& words);
/// `path`: of the folder. Throws CLI::ValidationError for words that mean nothing.
MappedBenchOptions mapped_options(const MappedWords& words, const std::string& path);
/// As arguments of the rank's command.
std::vector<std::string> to_arguments(const MappedWords& words);

/// The memory groups of one job, where they can be had; this process is in the rank's.
class MappedGroups {
 public:
  MappedGroups(std::uint64_t memory_bytes, bool with_rival);
  MappedWords tell(MappedWords words) const;

 private:
  std::optional<MemoryGroup> own_;
  std::optional<MemoryGroup> mmap_;
  std::optional<MemoryGroup> rival_;
  std::optional<MemoryGroup::Stay> stay_;
  std::string reason_;
};

}  // namespace coracle::internals::bench
