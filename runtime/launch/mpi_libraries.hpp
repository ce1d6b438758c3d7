// MpiLibraries: that programs made for another MPI find Coracle's library, and what to say where they have not.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace coracle::internals {

/// An MPI that is not Coracle's. To it a rank is a job of its own.
struct OtherMpi {
  std::string library;       ///< Its file.
  bool is_fortran = false;   ///< Its library for Fortran is there, too.
  bool is_started = false;   ///< MPI_Init has been called, surely; else that is not known.
  bool is_of_child = false;  ///< Not the process that was asked for has it, but one that it has started.
};

class MpiLibraries {
 public:
  /// Of the command that runs this: as it is built, and as it is installed.
  MpiLibraries();

  /// Where the libraries for programs of Open MPI 4 lie; "": this command has none.
  const std::string& folder() const noexcept { return folder_; }
  /// What the loader is to be told in LD_PRELOAD of a program that would look elsewhere first, by its DT_RPATH; "":
  /// nothing, LD_LIBRARY_PATH does. `program`: its path. Throws Error (unsupported) where it is one of MPI and the
  /// libraries have not been built, as by ./quickstart.
  std::string preload_for(const std::string& program) const;
  /// What is to be said of `other`, which `rank`, the name of one, has loaded.
  std::string words_of(const std::string& rank, const OtherMpi& other) const;

 private:
  std::string libraries(bool with_fortran) const;
  bool are_built() const;
  /// Of libraries that are not.
  std::string how_to_build() const;

  std::string folder_;
};

/// What `process`, or one that it has started, has loaded of another MPI. Another launcher's processes may.
std::optional<OtherMpi> other_mpi_of(pid_t process);

}  // namespace coracle::internals
