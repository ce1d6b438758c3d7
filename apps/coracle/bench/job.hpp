// Runs a benchmark as a job of its own: this very program is started as the job's ranks (`coracle bench-rank`), and
// rank 0 hands its report back.
#pragma once

#include <cstdint>

#include "apps/coracle/bench/benchmarks.hpp"
#include "runtime/job.hpp"

namespace coracle::bench {

struct JobPlan {
  Placement placement = Placement::pvas;
  std::uint32_t ranks = 2;
  std::uint32_t nodes = 1;
  RemoteTransport transport = RemoteTransport::automatic;
  bool quick = false;
  Choices choices = {};
};

/// Throws Error when the job fails, after its ranks have said why.
Report run_job(const Benchmark& benchmark, const JobPlan& plan);

}  // namespace coracle::bench
