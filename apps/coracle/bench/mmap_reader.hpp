// MmapReader: a process of its own that reads a file by mmap, in a memory group of its own: the page cache that it
// brings in counts there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "apps/coracle/bench/numbered_pages.hpp"

namespace coracle::bench {

enum class MmapAdvice : std::uint64_t { none, random };

class MmapReader {
 public:
  /// `group`: folder of the memory group; empty: none, and the file's pages are dropped from the page cache before each
  /// task instead. Throws Error.
  MmapReader(const std::string& file, const std::string& group);
  ~MmapReader();
  MmapReader(const MmapReader&) = delete;
  MmapReader& operator=(const MmapReader&) = delete;

  /// So many threads do what the plan says, each with a seed of its own. Returns when they have ended. Throws Error,
  /// also when a page was wrong.
  void run(MmapAdvice advice, std::uint64_t threads, const LoadPlan& plan);

 private:
  std::string file_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace coracle::bench
