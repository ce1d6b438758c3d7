// Draws the line anew over itself; gathers the times, and writes the trace.
#include "apps/common/program.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace coracle {

using Clock = std::chrono::steady_clock;

namespace {

/// Rank 0 does not come: this ends when it is gone, or with the job.
Task<> wait_for_first(Rank& self) {
  static_cast<void>(co_await as_result(self.world().barrier()));
}

}  // namespace

int leave(int argc, char** argv, int status) {
  if (status == 0 || rank_from_environment() == 0) return status;
  run(argc, argv, wait_for_first);
  return status;  // the same for all: who sees that rank 0 is gone may end before the launcher knows of that
}

void check_memory(double bytes, std::string_view what_needs, std::string_view smaller, std::string_view more) {
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes <= 0.9 * there) return;
  throw Error(Errc::bad_input, fmt::format("{} {:.1f} GiB{}, and this machine has {:.1f}; take a smaller {}, or more "
                                           "machines",
                                           what_needs, bytes * 0x1p-30, more, there * 0x1p-30, smaller));
}

void throw_mistake(std::string_view program, std::string_view what) {
  throw Error(std::make_error_code(std::errc::state_not_recoverable),
              fmt::format("{}: a mistake in {} or below; compare with one rank, and with another --place, to see where",
                          what, program));
}

double lap(Rank& self, std::uint64_t& began_ns) {
  const std::uint64_t now_ns = self.loop().exact_now_ns();
  return static_cast<double>(now_ns - std::exchange(began_ns, now_ns)) * 1e-9;
}

ProgressLine::ProgressLine(bool is_wanted)
    : is_shown_(is_wanted && isatty(STDERR_FILENO) == 1), start_(Clock::now()), next_(start_) {}

void ProgressLine::show(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 40;
  constexpr auto kPause = std::chrono::milliseconds(100);
  if (!is_shown_ || done == 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kPause;
  is_dirty_ = true;
  const std::size_t filled = all == 0 ? kWidth : done * kWidth / all;
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - start_).count();
  const double left_s = elapsed_s / static_cast<double>(done) * static_cast<double>(all - done);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, '.');
  fmt::print(stderr, "\r  [{}] {:>3} %  {:.1f} s, {:.1f} s to go \x1b[K", bar, all == 0 ? 100 : done * 100 / all,
             elapsed_s, left_s);
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (is_dirty_) fmt::print(stderr, "\r\x1b[K");
  is_dirty_ = false;
}

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
