// The first member makes the file; the others open it.
#include "apps/oocsort/new_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "apps/common/agreement.hpp"

namespace coracle::oocsort {
namespace {

std::string part_name(const std::string& path, std::uint64_t number) {
  return fmt::format("{}.part-{}", path, number);
}

}  // namespace

Task<NewFile> NewFile::make(Team& team, std::string path, std::uint64_t bytes, bool replace) {
  NewFile made(std::move(path));
  Task<> creating = team.index() == 0 ? made.create(bytes, replace) : no_work();
  co_await agree_on(team, std::move(creating));
  co_await agree_on(team, made.open(team));
  co_return made;
}

Task<> NewFile::create(std::uint64_t bytes, bool replace) {
  if (!replace && ::access(path_.c_str(), F_OK) == 0)
    throw Error(std::make_error_code(std::errc::file_exists),
                fmt::format("{} exists already; choose another name, or replace it by --force", path_));
  const std::string name = part_name(path_, static_cast<std::uint64_t>(::getpid()));
  file_ = std::make_unique<File>(File::create(name, false));
  unfinished_ = name;
  file_->reserve(bytes);
  co_return;
}

Task<> NewFile::open(Team& team) {
  auto number = static_cast<std::uint64_t>(::getpid());
  co_await team.broadcast(std::span(&number, 1), 0);
  if (!file_) file_ = std::make_unique<File>(File::open_to_write(part_name(path_, number)));
}

Task<> NewFile::rename() {
  if (!unfinished_) co_return;
  if (std::rename(unfinished_->c_str(), path_.c_str()) != 0)
    throw_errno(errno, fmt::format("can't rename {} to {}", *unfinished_, path_));
  unfinished_.reset();
  co_return;
}

Task<> NewFile::complete(Team& team) {
  co_await agree_on(team, rename());
}

NewFile::~NewFile() {
  if (unfinished_) ::unlink(unfinished_->c_str());
}

}  // namespace coracle::oocsort
