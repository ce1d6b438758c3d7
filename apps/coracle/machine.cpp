// Asking the kernel, hwloc and the runtime. Costs and choices are read once, by the launcher where the job is started:
// so all ranks choose alike.
#include "apps/coracle/machine.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include "collectives/choice/tuning.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/other_memory.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/say.hpp"
#include "runtime/pvas/address_space.hpp"
#include "storage/mapped/userfault.hpp"
#include "transports/connect.hpp"
#include "transports/cuda/failure.hpp"
#include "transports/verbs/support.hpp"

namespace coracle::internals {
namespace {

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

int numa_node_count() {
  hwloc_topology_t topology = nullptr;
  if (::hwloc_topology_init(&topology) != 0) return 1;
  const int count = ::hwloc_topology_load(topology) == 0 ? ::hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) : 1;
  ::hwloc_topology_destroy(topology);
  return count;
}

Ability pvas_placement() {
  const pvas::Support support = pvas::probe();
  std::string detail = support.reason;
  if (support.available)
    detail = fmt::format("{} mode: {}", support.mode == pvas::Mode::patched ? "patched" : "rlimit", support.reason);
  return {"pvas", support.available, detail, support.remedy};
}

/// Tried on this process itself, which only a kernel without the calls, or a container, refuses. Empty: there is none.
std::string way_to_other_memory() {
  char from = 1;
  char to = 0;
  const iovec here{&to, 1};
  const iovec there{&from, 1};
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1) return "process_vm_readv";
  const std::string reason = ::strerror(errno);
  if (read_other_memory(::getpid(), std::span(&here, 1), std::span(&there, 1)) != 1) return "";
  return fmt::format("/proc/PID/mem (process_vm_readv: {})", reason);
}

/// Reading a child's memory is what put and get need outside the segments; Yama and containers may forbid it.
Ability process_placement() {
  const int fd = ::memfd_create("coracle-info", MFD_CLOEXEC);
  if (fd < 0)
    return {"process", false, fmt::format("memfd_create: {}", ::strerror(errno)),
            "allow it in the container's seccomp profile"};
  ::close(fd);
  const std::string way = way_to_other_memory();
  if (way.empty())
    return {"process", true,
            "memory outside segments is out of reach: the kernel refuses process_vm_readv and /proc/PID/mem",
            "use a kernel built with CONFIG_CROSS_MEMORY_ATTACH, or allow the system call in the container's seccomp "
            "profile (only for messages, put and get from memory outside segments)"};
  const std::string scope = first_line_of("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.empty() || scope == "0") return {"process", true, "memory outside segments by " + way, ""};
  return {
      "process", true,
      fmt::format("kernel.yama.ptrace_scope is {}: without privileges, memory outside segments is out of reach", scope),
      "sysctl kernel.yama.ptrace_scope=0 (only for put and get from memory outside segments)"};
}

Ability uring() {
  const IoSupport support = probe_io();
  if (support.available) return {support.name, true, "used for files and descriptors", ""};
  return {support.name, false, support.reason + "; epoll and threads are used instead", support.remedy};
}

Ability windows() {
  const IoSupport support = storage::probe_userfaultfd();
  if (support.available) return {support.name, true, "loads and stores on paged segments", ""};
  return {support.name, false, support.reason + "; paged segments are reached by get and put only", support.remedy};
}

Ability map_count() {
  const std::string text = first_line_of("/proc/sys/vm/max_map_count");
  const long maps = text.empty() ? 65530 : std::stol(text);
  constexpr long kMapsPerRank = 80;
  constexpr long kManyRanks = 500;
  return {"vm.max_map_count", maps >= kManyRanks * kMapsPerRank,
          fmt::format("{}: room for about {} pvas ranks of a program of Coracle", maps, maps / kMapsPerRank),
          maps >= kManyRanks * kMapsPerRank ? "" : "sysctl vm.max_map_count=262144 for more"};
}

std::string limit_text(rlim_t value, std::uint64_t unit, const char* unit_name) {
  return value == RLIM_INFINITY ? "unlimited" : fmt::format("{}{}", value / unit, unit_name);
}

Ability limit(const char* name, __rlimit_resource resource, rlim_t enough, std::uint64_t unit, const char* unit_name,
              const char* remedy) {
  rlimit value{};
  ::getrlimit(resource, &value);
  const bool fits = value.rlim_max == RLIM_INFINITY || value.rlim_max >= enough;
  return {name, fits,
          fmt::format("{} (at most {})", limit_text(value.rlim_cur, unit, unit_name),
                      limit_text(value.rlim_max, unit, unit_name)),
          fits ? "" : remedy};
}

Ability huge_pages() {
  const std::string modes = first_line_of("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t begin = modes.find('[');
  const std::string mode =
      begin == std::string::npos ? "unknown" : modes.substr(begin + 1, modes.find(']') - begin - 1);
  return {"transparent huge pages", mode == "always" || mode == "madvise", mode,
          mode == "never" ? "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (faster large segments)" : ""};
}

/// Low: a thousand ranks would not fit.
std::vector<Ability> limits() {
  return {
      map_count(),
      limit("locked memory (ulimit -l)", RLIMIT_MEMLOCK, 8 << 20, 1 << 10, " KiB",
            "raise ulimit -l for io_uring and RDMA"),
      limit("open files (ulimit -n)", RLIMIT_NOFILE, 2048, 1, "", "raise ulimit -Hn: each rank needs one per rank"),
      limit("processes (ulimit -u)", RLIMIT_NPROC, 2000, 1, "", "raise ulimit -u: each rank is a process"),
      limit("address space (ulimit -v)", RLIMIT_AS, RLIM_INFINITY, 1 << 20, " MiB", "ulimit -v unlimited, for pvas"),
      huge_pages(),
  };
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  utsname names{};
  ::uname(&names);
  machine.kernel = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  machine.processor = processor_name();
  machine.cores = usable_cores();
  machine.numa_nodes = numa_node_count();
  struct sysinfo memory {};
  ::sysinfo(&memory);
  machine.memory_bytes = std::uint64_t{memory.totalram} * memory.mem_unit;
  const PmixClient::Support pmix = PmixClient::probe();
  const verbs::Support rdma = verbs::probe();
  const cuda::Support gpus = cuda::probe();
  const std::vector<Ability> placements = {
      pvas_placement(),
      process_placement(),
      {"thread", true, "all ranks in one process", ""},
      {"sim", true, "all ranks in one thread, simulated network, virtual time", ""}};
  machine.sections = {
      {"Placements (coracle run --place)", "placements", placements},
      {"Input and output",
       "io",
       {uring(), {"epoll", true, "for descriptors, with a few threads for files", ""}, windows()}},
      {"Other nodes (coracle run --transport)",
       "network",
       {{"tcp", true, "on io_uring or epoll", ""}, {"verbs", rdma.available, rdma.detail, rdma.remedy}}},
      {"Limits", "limits", limits(), "ok", "LOW"},
      {"More than one node",
       "launching",
       {{"nodes on this machine", true, "coracle run --nodes K", ""},
        {"pmix", pmix.available, pmix.detail, pmix.remedy}}},
      {"GPUs", "gpus", {{"cuda", gpus.available, gpus.detail, gpus.remedy}}, "yes", "no"},
  };
  return machine;
}

TuningQuery tuning_query(const JobOptions& options) {
  const JobShape& shape = options.shape;
  const auto cores = static_cast<std::uint32_t>(usable_cores().size());
  // Without hosts all nodes are on this machine.
  std::uint32_t ranks = shape.size;
  if (!options.hosts.empty()) {
    ranks = (shape.size + shape.nodes - 1) / shape.nodes;
    for (const std::uint32_t count : options.ranks_per_node) ranks = std::max(ranks, count);
  }
  const bool has_link = shape.nodes > 1 || PmixClient::is_wanted();
  return {host_name(), cores, to_string(shape.placement), has_link ? transport_between_nodes(shape) : "",
          ranks > cores};
}

void set_choices(JobOptions& options) {
  JobShape& shape = options.shape;
  const UserChoices choices = UserChoices::of_environment();
  std::string costs;
  if (shape.placement != Placement::sim && shape.size > 1) {  // the simulated network is known
    std::vector<std::string> warnings;
    costs = measured_costs(tuning_query(options), warnings);
    for (const std::string& warning : warnings) say("warning: {}", warning);
  }
  const std::string words = job_words(costs, choices);
  CORACLE_ASSERT(words.size() < shape.choices.size(), "the job's choices take {} bytes", words.size());
  words.copy(shape.choices.data(), words.size());
  if (!words.empty()) options.notes.push_back("collectives: " + words);
}

}  // namespace coracle::internals
