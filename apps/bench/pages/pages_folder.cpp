#include "apps/bench/pages/pages_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "apps/bench/benchmark.hpp"
#include "apps/common/units.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {

std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most) {
  constexpr std::uint64_t kMiB = 1 << 20;
  constexpr std::uint64_t kLargestPage = 4 * kMiB;
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes < least || *bytes > most || *bytes % kLargestPage != 0)
    wrong(fmt::format("{} {}: must be a multiple of 4M, from {}M to {}M", option, word, least / kMiB, most / kMiB));
  return *bytes;
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
