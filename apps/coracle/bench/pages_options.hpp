// What `coracle bench pages` is to measure: as words for the command line and for the ranks it starts, and as values.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace coracle::internals::bench {

/// As the user wrote them.
struct PagesWords {
  std::string path;  ///< Empty: where temporary files go.
  std::string file_bytes = "256M";
  std::string cache_bytes = "32M";
};

struct PagesOptions {
  std::string path;  ///< Of a folder.
  std::uint64_t file_bytes = 0;
  std::uint64_t cache_bytes = 0;
};

/// Adds the options to a command; `words` must outlive it.
void add_pages_options(CLI::App& command, PagesWords& words);
/// The bytes that `word` says, for an option that takes whole pages of every size. Throws CLI::ValidationError.
std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most);
/// Throws CLI::ValidationError for words that mean nothing.
PagesOptions pages_options(const PagesWords& words);
/// As arguments of another command with the same options.
std::vector<std::string> to_arguments(const PagesWords& words);

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
