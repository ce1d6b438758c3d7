// Gathering the times, and writing the trace.
#include "apps/arrival_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "collectives/collectives.hpp"
#include "runtime/error.hpp"

namespace coracle {
namespace {

void write_trace(const std::string& path, const std::string& program, std::uint32_t ranks,
                 const std::vector<std::vector<std::uint64_t>>& times_ns) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << fmt::format("# How late each rank of {} came to the collective of each iteration, after the first of them.\n",
                      program)
       << fmt::format("unit = us\nranks = {}\n", ranks);
  for (const std::vector<std::uint64_t>& iteration : times_ns) {
    const std::uint64_t first = *std::min_element(iteration.begin(), iteration.end());
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      file << (rank == 0 ? "" : " ") << fmt::format("{:.4g}", static_cast<double>(iteration[rank] - first) / 1e3);
    file << '\n';
  }
  if (!file.flush()) throw_errno(errno, fmt::format("can't write the trace of arrivals {}", path));
}

}  // namespace

Task<> ArrivalLog::write(Rank& self, std::string path, std::string program) const {
  std::vector<std::vector<std::uint64_t>> times_ns;
  times_ns.reserve(times_ns_.size());
  for (const std::uint64_t mine : times_ns_) times_ns.push_back(co_await self.world().gather_all(mine));
  if (self.id() == 0) write_trace(path, program, self.size(), times_ns);
}

}  // namespace coracle
