// The file of measured costs, which `coracle bench tune` writes and the launcher reads: only there, so that the ranks
// of a job choose alike even when their machines have different files.
//
//     coracle-tuning 1
//     host=node7 cores=64 level=pvas crowded=no inside.latency_ns=80 inside.flag_ns=20 ...
//     host=node7 cores=64 level=tcp crowded=no between.latency_ns=12000 ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::internals {

/// What was measured on one machine on one level.
struct TuningRecord {
  std::string host;
  std::uint32_t cores = 0;  ///< That the machine had then.
  std::string level;        ///< A placement, or the transport between nodes: "pvas", "tcp".
  bool crowded = false;     ///< More ranks than cores.
  std::vector<std::pair<std::string, double>> costs;

  bool is_of(const TuningRecord& other) const {
    return host == other.host && level == other.level && crowded == other.crowded;
  }
  bool operator==(const TuningRecord&) const = default;
};

/// Throws Error (bad_input): "`name`:line: what is wrong and how to mend it".
std::vector<TuningRecord> parse_tuning(std::string_view text, std::string_view name);
std::string tuning_text(const std::vector<TuningRecord>& records);
/// A record takes the place of one of the same host, level and crowdedness.
void put_record(std::vector<TuningRecord>& records, TuningRecord record);

/// $CORACLE_TUNING; if that is not set, coracle/tuning below $XDG_CONFIG_HOME or ~/.config. "": there is none.
std::string tuning_path();
/// All of a file; none when it does not exist. Throws Error.
std::vector<TuningRecord> read_tuning(const std::string& path);
/// As a whole or not at all; makes the folder. Throws Error.
void write_tuning(const std::string& path, const std::vector<TuningRecord>& records);

/// What a launcher looks for.
struct TuningQuery {
  std::string host;
  std::uint32_t cores = 1;
  std::string placement;
  std::string link;  ///< "": the job has one node.
  bool crowded = false;
};
/// The costs for a job, as words of set_cost(); "" when nothing was measured for it. What is wrong with the file is
/// added to `warnings`, and the built-in values are taken then.
std::string measured_costs(const TuningQuery& query, std::vector<std::string>& warnings);

}  // namespace coracle::internals
