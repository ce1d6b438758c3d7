// What a job's ranks are told of how its collectives go: measured costs of this machine, and the user's choices.
#pragma once

#include <string>
#include <vector>

#include "collectives/choice/tuning_file.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

/// Of a job as `options` describe it, on this machine.
TuningQuery tuning_query(const JobOptions& options);

/// Fills in `options.shape.choices`, and a note. Warns on standard error of a file of costs that can't be used. Throws
/// Error (bad_input) for a choice that can't be meant.
void set_choices(JobOptions& options);

}  // namespace coracle::internals
