// What `coracle bench tune` has measured, as the costs that the model of the collectives takes, and into their file.
#pragma once

#include <cstdint>
#include <string>

#include "apps/bench/measure/report.hpp"
#include "collectives/choice/tuning_file.hpp"

namespace coracle::internals::bench {

// Its rows.
constexpr const char* kTuneLatency = "from a word to its reader";
constexpr const char* kTuneFlag = "saying a word";
constexpr const char* kTuneCopy = "one rank copies";
constexpr const char* kTuneCopyByAll = "all others copy at once";
constexpr const char* kTuneGap = "from one message to the next";
constexpr const char* kTuneBulk = "puts of 1 MiB at once";

/// Fits the costs to the report of one job. Between nodes: query.link is not "".
TuningRecord fitted_record(const Report& report, const TuningQuery& query, std::uint32_t ranks);

/// Puts the record into the file of costs, and says so on standard output. Throws Error.
void keep_record(TuningRecord record);

}  // namespace coracle::internals::bench
