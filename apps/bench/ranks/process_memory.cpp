// Reads /proc.
#include "apps/bench/ranks/process_memory.hpp"

#include <fmt/format.h>

#include <fstream>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::bench {
namespace {

ProcessMemory memory_of(const std::string& process) {
  const std::string rollup = fmt::format("/proc/{}/smaps_rollup", process);
  return {kilobytes_line(fmt::format("/proc/{}/status", process), "VmPTE:"), kilobytes_line(rollup, "Pss:"),
          kilobytes_line(rollup, "Rss:")};
}

}  // namespace

double kilobytes_line(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, key.size(), key) == 0) return std::stod(line.substr(key.size())) * 1024;
  throw Error(Errc::unsupported, fmt::format("{} has no line {}", path, key));
}

ProcessMemory memory_of_all(Rank& self) {
  if (self.placement() != Placement::process) return memory_of("self");
  ProcessMemory sum;
  for (std::uint32_t rank = 0; rank < self.size(); ++rank) {
    // relaxed: stored long before the collective that has ended here.
    const auto pid = self.core().region().block(rank).pid.load(std::memory_order_relaxed);
    const ProcessMemory memory = memory_of(std::to_string(pid));
    sum.page_tables += memory.page_tables;
    sum.proportional += memory.proportional;
    sum.resident += memory.resident;
  }
  return sum;
}

}  // namespace coracle::internals::bench
