// One reduction per agreement. The first member chooses a folder's name; where the others' nodes don't have it yet,
// they make it.
#include "apps/common/out_of_core.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace coracle {

Task<bool> agree_on_more(Team& team, std::exception_ptr error, bool more) {
  // The smallest place of a member that has failed, and of one that has more to do.
  const std::uint32_t nobody = team.size();
  std::vector<std::uint32_t> first = {error ? team.index() : nobody, more ? team.index() : nobody};
  const Result<void> reached = co_await as_result(team.all_reduce(first, min_of));
  if (!reached && error) std::rethrow_exception(error);  // it broke the team itself
  reached.value();
  if (first[0] < nobody) throw Agreed{first[0] == team.index() ? error : nullptr};
  co_return first[1] < nobody;
}

Task<> agree(Team& team, std::exception_ptr error) {
  co_await agree_on_more(team, std::move(error), false);
}

Task<> agree_on(Team& team, Task<> work) {
  std::exception_ptr error;
  try {
    co_await work;
  } catch (const Agreed&) {
    throw;
  } catch (...) {
    error = std::current_exception();
  }
  co_await agree(team, error);
}

Task<> no_work() {
  co_return;
}

Task<> run_agreed(Rank& self, Task<> program) {
  std::exception_ptr error;
  bool agreed = false;
  try {
    Task<> running = std::move(program);
    co_await running;
  } catch (const Agreed& failure) {
    agreed = true;
    error = failure.error;
  }
  if (agreed) co_await self.world().barrier();
  if (error) std::rethrow_exception(error);
}

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

namespace {

using Count = std::uint64_t PagedCounts::*;
constexpr Count kCounts[] = {
    &PagedCounts::hits,       &PagedCounts::misses,    &PagedCounts::from_peers,      &PagedCounts::ssd_reads,
    &PagedCounts::ssd_writes, &PagedCounts::evictions, &PagedCounts::dirty_evictions, &PagedCounts::invalidations,
    &PagedCounts::read_ahead, &PagedCounts::offered,   &PagedCounts::handed_on,       &PagedCounts::taken_in};

}  // namespace

PagedCounts since(const PagedCounts& before, const PagedCounts& now) {
  PagedCounts counts;
  for (const Count count : kCounts) counts.*count = now.*count - before.*count;
  return counts;
}

Task<PagedCounts> sum_of(Team& team, PagedCounts mine) {
  std::vector<std::uint64_t> numbers;
  for (const Count count : kCounts) numbers.push_back(mine.*count);
  co_await team.all_reduce(numbers, std::plus<>());
  for (std::size_t i = 0; i < numbers.size(); ++i) mine.*kCounts[i] = numbers[i];
  co_return mine;
}

}  // namespace coracle
