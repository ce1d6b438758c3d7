// Looks at every name before it deletes any.
#include "apps/coracle/otf2/trace_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

namespace fs = std::filesystem;

/// "12.evt" or "12.def": of a location.
bool is_of_location(const fs::directory_entry& entry) {
  const std::string stem = entry.path().stem().string();
  const std::string ending = entry.path().extension().string();
  const bool is_number = !stem.empty() && stem.find_first_not_of("0123456789") == std::string::npos;
  return is_number && (ending == ".evt" || ending == ".def") && entry.symlink_status().type() == fs::file_type::regular;
}

bool is_by_us(const fs::path& anchor) {
  constexpr std::uint64_t kBytesMost = 1 << 20;
  if (fs::file_size(anchor) > kBytesMost) return false;
  std::ifstream file(anchor, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(kArchiveCreator) != std::string::npos;
}

/// Adds what the archive's inner folder holds; false: it holds something else, too.
bool add_locations(const fs::path& folder, std::vector<fs::path>& paths) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!is_of_location(entry)) return false;
    paths.push_back(entry.path());
  }
  paths.push_back(folder);
  return true;
}

/// All that is in `folder`, each thing behind what it holds, where that is an archive of ours or nothing; else throws.
std::vector<fs::path> paths_of_archive(const std::string& folder) {
  std::vector<fs::path> paths;
  bool is_fine = true;
  bool has_anchor = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const fs::file_type type = entry.symlink_status().type();
    const bool is_anchor = name == fmt::format("{}.otf2", kArchiveName) && type == fs::file_type::regular;
    const bool is_definitions = name == fmt::format("{}.def", kArchiveName) && type == fs::file_type::regular;
    if (name == kArchiveName && type == fs::file_type::directory)
      is_fine = is_fine && add_locations(entry.path(), paths);
    else if (is_anchor || is_definitions)
      paths.push_back(entry.path());
    else
      is_fine = false;
    has_anchor = has_anchor || (is_anchor && is_by_us(entry.path()));
  }
  if (is_fine && (paths.empty() || has_anchor)) return paths;
  throw Error(Errc::bad_input,
              "this folder holds something other than a trace that Coracle has left; name another, or move it away");
}

/// Throws Error, which says why.
std::vector<fs::path> look_through(const std::string& folder) {
  try {
    return paths_of_archive(folder);
  } catch (const fs::filesystem_error& error) {
    throw Error(error.code(), error.code().message());
  }
}

}  // namespace

TraceFolder::TraceFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  if (::mkdir(path_.c_str(), 0777) == 0) return;
  const std::string what = fmt::format("can't write the trace to {} (--trace: a folder)", path_);
  if (errno != EEXIST) throw_errno(errno, what);
  was_there_ = true;
  try {
    look_through(path_);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", what, error.what()));
  }
  if (::access(path_.c_str(), W_OK | X_OK) != 0) throw_errno(errno, what);
}

TraceFolder::~TraceFolder() {
  if (!was_there_) ::rmdir(path_.c_str());
}

void TraceFolder::clear() {
  for (const fs::path& path : look_through(path_)) {
    if (std::remove(path.c_str()) != 0) throw_errno(errno, fmt::format("can't replace {}", path.string()));
  }
}

}  // namespace coracle::internals
