// A folder for the files of paged segments that a program uses while it runs.
#pragma once

#include <coracle/coracle.hpp>

#include <string>

namespace coracle {

/// One name for all ranks, a folder at every node; gone with these objects.
class ScratchFolder {
 public:
  /// Makes `<parent>/coracle-XXXXXX`. Collective; fails at all members together (Agreed).
  static Task<ScratchFolder> make(Team& team, std::string parent);
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder();

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Takes the names away from the files in it, which live on while they are open: so that nothing but an empty folder
  /// is left when the job is killed.
  void forget_files() const noexcept;

 private:
  explicit ScratchFolder(std::string path) noexcept : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace coracle
