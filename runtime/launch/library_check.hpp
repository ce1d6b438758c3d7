// In a job of several programs: that all have the same library. Handlers travel as distances in it, and would be other
// functions in another.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// Where the ranks of a node write down which library they have: a file without a name, which they inherit.
class LibraryNotes {
 public:
  /// Throws Error.
  LibraryNotes();

  /// Close-on-exec; the ranks are to have it.
  int fd() const noexcept { return fd_.get(); }
  /// The variable for the ranks' environment: "CORACLE_LIBRARIES=...".
  std::string environment() const;

 private:
  FileDescriptor fd_;
};

/// If there are such notes, writes that of `rank`, this one, and throws Error (unsupported) if a rank that has attached
/// before has another library. Before the rank looks at a message. (Ranks of other nodes ask when they connect.)
void refuse_other_library(const JobRegion& region, std::uint32_t rank);

}  // namespace coracle::internals
