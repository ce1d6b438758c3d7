// From measured times to costs.
#include "apps/bench/coll/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "runtime/core/error.hpp"

namespace coracle::internals::bench {

TuningRecord fitted_record(const Report& report, const TuningQuery& query, std::uint32_t ranks) {
  const auto median = [&report](const char* name) { return report.row(name).value.median; };
  const auto bandwidth = [&](const char* name) { return report.row(name).bytes / std::max(1.0, median(name)); };
  TuningRecord record{query.host, query.cores, query.placement, query.crowded, {}};
  if (!query.link.empty()) {
    record.level = query.link;
    const double gap_ns = median(kTuneGap);
    // What a sender's processor does of it can't be told apart here: both are paid by the message after it.
    record.costs = {{"between.latency_ns", std::max(0.0, median(kTuneLatency) - gap_ns)},
                    {"between.overhead_ns", gap_ns},
                    {"between.gap_ns", gap_ns},
                    {"between.bandwidth_bytes_per_ns", bandwidth(kTuneBulk)}};
    return record;
  }
  record.costs = {{"inside.latency_ns", median(kTuneLatency)},
                  {"inside.flag_ns", median(kTuneFlag)},
                  {"inside.bandwidth_bytes_per_ns", bandwidth(kTuneCopy)}};
  if (ranks > 2) {
    const double others = ranks - 1;
    const double slower = median(kTuneCopyByAll) / std::max(1.0, median(kTuneCopy));
    record.costs.emplace_back("inside.readers", std::clamp(others / slower, 1.0, others));
  }
  return record;
}

void keep_record(TuningRecord record) {
  const std::string path = tuning_path();
  if (path.empty())
    throw Error(Errc::bad_input, "there is no place for the costs: set HOME, or CORACLE_TUNING to a file's path");
  std::vector<TuningRecord> records;
  try {
    records = read_tuning(path);
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input) throw;
    fmt::print(stderr, "coracle: warning: {}; it is replaced\n", error.what());
  }
  const auto old = std::find_if(records.begin(), records.end(),
                                [&record](const TuningRecord& other) { return other.is_of(record); });
  // How many may read at once is measured by jobs with many ranks only.
  if (old != records.end() && old->cores == record.cores)
    for (const auto& cost : old->costs)
      if (std::none_of(record.costs.begin(), record.costs.end(),
                       [&cost](const auto& other) { return other.first == cost.first; }))
        record.costs.push_back(cost);
  fmt::print("\nKept in {}:\n  {}", path, tuning_text({record}).substr(tuning_text({}).size()));
  put_record(records, std::move(record));
  write_tuning(path, records);
}

}  // namespace coracle::internals::bench
