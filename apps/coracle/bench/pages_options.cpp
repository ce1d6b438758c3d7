// From words to what is measured, and back; and the folder in which it is.
#include "apps/coracle/bench/pages_options.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <system_error>

#include "apps/coracle/units.hpp"
#include "runtime/error.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kFileBytesMin = 32 * kMiB;
constexpr std::uint64_t kFileBytesMax = 64 * 1024 * kMiB;
constexpr std::uint64_t kCacheBytesMin = 8 * kMiB;
constexpr std::uint64_t kLargestPage = 4 * kMiB;

}  // namespace

std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most) {
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes < least || *bytes > most || *bytes % kLargestPage != 0)
    throw CLI::ValidationError(
        fmt::format("{} {}: must be a multiple of 4M, from {}M to {}M", option, word, least / kMiB, most / kMiB));
  return *bytes;
}

void add_pages_options(CLI::App& command, PagesWords& words) {
  command.add_option("--path", words.path, "Folder on the SSD to measure (default: that of temporary files)")
      ->group("pages");
  command.add_option("--file-bytes", words.file_bytes, "Of the file that is read")
      ->capture_default_str()
      ->group("pages");
  command.add_option("--cache-bytes", words.cache_bytes, "Of DRAM for its pages; at most half of the file")
      ->capture_default_str()
      ->group("pages");
}

PagesOptions pages_options(const PagesWords& words) {
  PagesOptions options;
  options.path = words.path;
  options.file_bytes = whole_pages("--file-bytes", words.file_bytes, kFileBytesMin, kFileBytesMax);
  options.cache_bytes = whole_pages("--cache-bytes", words.cache_bytes, kCacheBytesMin, options.file_bytes / 2);
  return options;
}

std::vector<std::string> to_arguments(const PagesWords& words) {
  return {"--path", words.path, "--file-bytes", words.file_bytes, "--cache-bytes", words.cache_bytes};
}

PagesFolder::PagesFolder(const std::string& parent) {
  const std::filesystem::path given = parent;
  const std::filesystem::path place = parent.empty() ? std::filesystem::temp_directory_path() : given;
  path_ = std::filesystem::absolute(place / "coracle-pages-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr)
    throw_errno(errno, fmt::format("can't make a folder for the pages in {} (see --path)", place.string()));
}

PagesFolder::~PagesFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace coracle::internals::bench
