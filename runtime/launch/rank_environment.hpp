// The environment of ranks: the launcher's own, what tells a rank who it is, and where programs of other interfaces
// find their library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// What the loader of a rank's program is told beside what the user's environment tells it; "": nothing.
struct LoaderWishes {
  std::string folder;   ///< For LD_LIBRARY_PATH, at its head.
  std::string preload;  ///< For LD_PRELOAD, at its end.
};

/// Of `rank`, one of the node whose region this is.
std::vector<std::string> rank_environment(const JobRegion& region, std::uint32_t rank, const JobOptions& options,
                                          const LoaderWishes& loader);

/// In a rank that a launcher has started: which of the job's programs it runs.
std::uint32_t program_from_environment();
/// How many ranks run that.
std::uint32_t program_size_from_environment();

/// For a process that no launcher of ours has started. Throws unsupported if another has, as one of several: each would
/// take itself for the whole job.
void check_is_started_alone();

}  // namespace coracle::internals
