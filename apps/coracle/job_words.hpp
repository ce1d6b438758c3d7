// Which job a command means.
#pragma once

#include <sys/types.h>

#include <string>

namespace coracle::internals {

/// The launcher that `word` names; of "" the only one that there is. Throws WrongUsage for what is no
/// process's number, and Error where there is no job, or more than one, to choose.
pid_t job_of(const std::string& word);

}  // namespace coracle::internals
