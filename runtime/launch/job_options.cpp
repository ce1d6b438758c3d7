// Which rank runs what; and cores by hwloc.
#include "runtime/launch/job_options.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>

#include <cerrno>
#include <memory>

#include "runtime/core/error.hpp"

namespace coracle::internals {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { ::hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology read_topology() {
  hwloc_topology_t raw = nullptr;
  if (::hwloc_topology_init(&raw) != 0) throw_errno(errno, "can't read the machine's topology (hwloc_topology_init)");
  Topology topology(raw);
  // Only cores are wanted: caches and devices cost time.
  ::hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  ::hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  if (::hwloc_topology_load(raw) != 0) throw_errno(errno, "can't read the machine's topology (hwloc_topology_load)");
  return topology;
}

std::vector<int> usable_cpus(hwloc_obj_t core, hwloc_const_cpuset_t allowed) {
  std::vector<int> cpus;
  for (int cpu = ::hwloc_bitmap_first(core->cpuset); cpu >= 0; cpu = ::hwloc_bitmap_next(core->cpuset, cpu))
    if (::hwloc_bitmap_isset(allowed, static_cast<unsigned>(cpu))) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

std::uint32_t program_of(const JobOptions& options, std::uint32_t rank) {
  std::uint32_t program = 0;
  while (program + 1 < options.programs.size() && rank >= options.programs[program].ranks)
    rank -= options.programs[program++].ranks;
  return program;
}

std::uint32_t node_of(const JobOptions& options, std::uint32_t rank) {
  if (options.ranks_per_node.empty()) return JobRegion::node_of(rank, options.shape);
  std::uint32_t node = 0;
  while (node + 1 < options.ranks_per_node.size() && rank >= options.ranks_per_node[node])
    rank -= options.ranks_per_node[node++];
  return node;
}

std::string program_names(const JobOptions& options) {
  std::string names;
  const std::size_t count = options.programs.size();
  for (std::size_t i = 0; i < count; ++i) {
    const char* const between = i == 0 ? "" : i + 1 == count ? " and " : ", ";
    names += between + options.programs[i].program;
  }
  return names;
}

void check_programs(const JobOptions& options) {
  std::uint64_t sum = 0;
  for (const ProgramPart& part : options.programs) {
    if (part.ranks == 0) throw Error(Errc::bad_input, fmt::format("{} needs at least one rank", part.program));
    sum += part.ranks;
  }
  if (sum != options.shape.size)
    throw Error(Errc::bad_input,
                fmt::format("the programs have {} ranks, where the job has {}", sum, options.shape.size));
}

std::vector<std::vector<int>> usable_cores() {
  const Topology topology = read_topology();
  const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> allowed(::hwloc_bitmap_alloc(), ::hwloc_bitmap_free);
  if (::hwloc_get_cpubind(topology.get(), allowed.get(), HWLOC_CPUBIND_PROCESS) != 0)
    ::hwloc_bitmap_copy(allowed.get(), ::hwloc_topology_get_allowed_cpuset(topology.get()));
  // Virtual machines may show processing units without cores.
  const bool has_cores = ::hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<std::vector<int>> cores;
  for (hwloc_obj_t core = nullptr; (core = ::hwloc_get_next_obj_by_type(topology.get(), type, core)) != nullptr;) {
    std::vector<int> cpus = usable_cpus(core, allowed.get());
    if (!cpus.empty()) cores.push_back(std::move(cpus));
  }
  return cores;
}

}  // namespace coracle::internals
