// Reads /proc. Growth: normal equations of a * n + b * n^2.
#include "apps/bench/ranks/process_memory.hpp"

#include <fmt/format.h>

#include <fstream>

#include "runtime/core/assert.hpp"
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

Growth growth_of(std::span<const double> numbers, std::span<const double> values) {
  double n2 = 0;
  double n3 = 0;
  double n4 = 0;
  double vn = 0;
  double vn2 = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double n = numbers[i];
    n2 += n * n;
    n3 += n * n * n;
    n4 += n * n * n * n;
    vn += values[i] * n;
    vn2 += values[i] * n * n;
  }
  const double determinant = n2 * n4 - n3 * n3;
  CORACLE_ASSERT(determinant > 0, "a growth of {} numbers that are alike", numbers.size());
  return {(vn * n4 - vn2 * n3) / determinant, (vn2 * n2 - vn * n3) / determinant};
}

}  // namespace coracle::internals::bench
