// A file that all ranks write together, and that has its name only when it is whole.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/common/file.hpp"

namespace coracle::oocsort {

class NewFile {
 public:
  /// Takes the space for `bytes` under a name of its own in the folder of `path`. An existing `path` is refused unless
  /// `replace`, and stays until the end. Collective; fails at all members together (Agreed).
  static Task<NewFile> make(Team& team, std::string path, std::uint64_t bytes, bool replace);
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  /// Removes what has not become whole.
  ~NewFile();

  const File& file() const noexcept { return *file_; }
  /// All has been written, by everybody. Collective.
  Task<> complete(Team& team);

 private:
  explicit NewFile(std::string path) noexcept : path_(std::move(path)) {}
  Task<> create(std::uint64_t bytes, bool replace);
  Task<> open(Team& team);
  Task<> rename();

  std::string path_;
  std::optional<std::string> unfinished_;  // at the member that made it, until it has its name
  std::unique_ptr<File> file_;
};

}  // namespace coracle::oocsort
