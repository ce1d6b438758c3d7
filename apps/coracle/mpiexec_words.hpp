// What scripts say to mpiexec and mpirun, as words of `coracle run`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace coracle::internals {

struct MpiexecCommand {
  std::vector<std::string> run_words;                            ///< Behind `coracle run`.
  std::vector<std::pair<std::string, std::string>> environment;  ///< Of all ranks.
  std::string directory;                                         ///< Of all ranks; "": this one.
  std::vector<std::string> ignored;                              ///< Options with their values that mean nothing here.
  bool wants_version = false;                                    ///< And nothing else.
};

/// `words`: behind `mpiexec`. `time_limit`: the variable MPIEXEC_TIMEOUT, in seconds, which an option overrides; "":
/// none. Knows options of Open MPI, MPICH (Hydra) and Intel MPI. Throws Error (bad_input) for one that none of them
/// has, for a value that is missing, for one of the whole job behind a ':', and for a file that can't be read.
MpiexecCommand translate_mpiexec(const std::vector<std::string>& words, const std::string& time_limit = "");

}  // namespace coracle::internals
