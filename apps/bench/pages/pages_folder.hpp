// What the benchmarks of memory on SSD share: the folder in which a job's files are, and sizes of whole pages.
#pragma once

#include <cstdint>
#include <string>

namespace coracle::internals::bench {

/// The bytes that `word` says, for an option that takes whole pages of every size. Throws CLI::ValidationError.
std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most);

/// A new folder for the files of one job; goes with all that is in it.
class PagesFolder {
 public:
  /// In `parent`, or where temporary files go if that is "". Throws Error.
  explicit PagesFolder(const std::string& parent);
  ~PagesFolder();
  PagesFolder(const PagesFolder&) = delete;
  PagesFolder& operator=(const PagesFolder&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace coracle::internals::bench
