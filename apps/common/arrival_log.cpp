// Gathering the times, and writing the trace.
#include "apps/common/arrival_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include <coracle/coracle.hpp>

namespace coracle {

std::string arrival_trace(std::string_view program, std::span<const double> times_s, std::uint32_t ranks) {
  std::string text = fmt::format(
      "# How late each rank of {} came to the collective of each iteration, after the first of them.\n"
      "unit = us\nranks = {}\n",
      program, ranks);
  for (std::size_t i = 0; i < times_s.size(); i += ranks) {
    const std::span<const double> times = times_s.subspan(i, ranks);
    const double first = *std::min_element(times.begin(), times.end());
    for (std::size_t rank = 0; rank < ranks; ++rank)
      fmt::format_to(std::back_inserter(text), "{}{:.3f}", rank == 0 ? "" : " ", (times[rank] - first) * 1e6);
    text += '\n';
  }
  return text;
}

Task<> ArrivalLog::write(Rank& self, std::string path, std::string program) const {
  std::vector<double> times_s;
  for (const std::uint64_t mine_ns : times_ns_) {
    const std::vector<std::uint64_t> all_ns = co_await self.world().gather_all(mine_ns);
    for (const std::uint64_t time_ns : all_ns) times_s.push_back(static_cast<double>(time_ns) * 1e-9);
  }
  if (self.id() != 0) co_return;
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << arrival_trace(program, times_s, self.size());
  if (!file.flush()) throw_errno(errno, fmt::format("can't write the trace of arrivals {}", path));
}

}  // namespace coracle
