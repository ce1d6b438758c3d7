// Runs a benchmark as a job of its own: this very program is started as the job's ranks (`coracle bench-rank`), and
// rank 0 hands its report back.
#pragma once

#include <cstdint>
#include <string>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/ddt_options.hpp"
#include "apps/coracle/bench/mapped_options.hpp"
#include "apps/coracle/bench/pages_options.hpp"
#include "apps/coracle/bench/upa_options.hpp"
#include "runtime/job.hpp"

namespace coracle::internals::bench {

struct JobPlan {
  Placement placement = Placement::pvas;
  std::uint32_t ranks = 2;
  std::uint32_t nodes = 1;
  RemoteTransport transport = RemoteTransport::automatic;
  bool quick = false;
  Choices choices = {};
  std::string network_file = {};  ///< `sim`: of the model; empty: the built-in one.
  std::uint64_t seed = 1;         ///< `sim`: of the schedule.
  UpaWords upa = {};              ///< Of `upa` only.
  DdtWords ddt = {};              ///< Of `ddt` only.
  PagesWords pages = {};          ///< Of `pages`; of `mapped` the path.
  MappedWords mapped = {};        ///< Of `mapped` only.
};

/// Throws Error when the job fails, after its ranks have said why.
Report run_job(const Benchmark& benchmark, const JobPlan& plan);

}  // namespace coracle::internals::bench
