// The first member chooses the name; where the others' nodes don't have the folder yet, they make it.
#include "apps/common/scratch_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "apps/common/agreement.hpp"

namespace coracle {
namespace {

[[noreturn]] void fail(int code, const std::string& parent) {
  throw_errno(code, fmt::format("can't make a folder in {} (give --scratch a folder that exists at every node, on a "
                                "local SSD with room)",
                                parent));
}

Task<> choose(std::string parent, std::string& path) {
  path = parent + "/coracle-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) fail(errno, parent);
  co_return;
}

Task<> make_here(std::string parent, std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) co_return;
  if (errno != EEXIST) fail(errno, parent);
  // Made by another member that shares this file system; or by somebody else, who would get our files.
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) fail(errno, parent);
  const bool ours = status.st_uid == ::geteuid() || ::geteuid() == 0;  // NFS may give root's files to nobody
  if (S_ISDIR(status.st_mode) && ours) co_return;
  path.clear();  // so that it is not removed
  fail(EEXIST, parent);
}

}  // namespace

Task<ScratchFolder> ScratchFolder::make(Team& team, std::string parent) {
  constexpr std::size_t kSuffix = std::string_view("coracle-XXXXXX").size();
  std::string path = parent + "/coracle-XXXXXX";
  Task<> choosing = team.index() == 0 ? choose(parent, path) : no_work();
  co_await agree_on(team, std::move(choosing));
  // Before anything can fail at another member, so that the folder goes with all of these.
  ScratchFolder folder(path);
  co_await team.broadcast(std::span(folder.path_).last(kSuffix), 0);
  co_await agree_on(team, make_here(parent, folder.path_));
  co_return folder;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void ScratchFolder::forget_files() const noexcept {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
    std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace coracle
