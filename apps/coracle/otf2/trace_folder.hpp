// TraceFolder: the folder of an OTF2 archive. Nothing in it is ever deleted but what such an archive of ours consists
// of.
#pragma once

#include <string>

namespace coracle::internals {

/// What the archive's files are called: traces.otf2, traces.def and the folder traces/.
constexpr const char* kArchiveName = "traces";
/// By which the file traces.otf2 says whose archive it is.
constexpr const char* kArchiveCreator = "coracle run --trace";

class TraceFolder {
 public:
  /// Makes the folder. One that is there must be empty, or an archive of ours, which stays until clear(). Throws Error.
  explicit TraceFolder(std::string path);
  /// A folder that was made here, and is empty, is not left behind.
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  /// Deletes the archive that was there. It is looked at again: throws Error where it is none of ours any more.
  void clear();

 private:
  std::string path_;
  bool was_there_ = false;
};

}  // namespace coracle::internals
