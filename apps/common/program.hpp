// What applications do around their work: they start, show how far they are, tell what came out, and record how late
// each rank comes to a collective, iteration by iteration, as a trace that `coracle bench arrival --arrival FILE`
// reads.
#pragma once

#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/common/file.hpp"

namespace coracle {

/// What main() returns where the command line has given a status. After wrong usage rank 0 ends the job; the others
/// wait for that, since the first that ends takes all with it, and rank 0 might not have spoken yet.
int leave(int argc, char** argv, int status);

/// Runs `program(rank, options)` at every rank, or leaves with the status that the command line has given instead.
/// Where the results shall be written is tried first: they may take hours.
template <class Options, class Program>
int start(int argc, char** argv, const std::variant<Options, int>& parsed, Program program) {
  if (const int* const status = std::get_if<int>(&parsed)) return leave(argc, argv, *status);
  const Options& options = std::get<Options>(parsed);
  return run(argc, argv, [&](Rank& self) {
    if (self.id() == 0 && !options.json_path.empty()) check_writable(options.json_path);
    return program(self, options);
  });
}

/// Says early what would otherwise end in the kernel's out-of-memory killer. Throws Error where the machine has no
/// `bytes`: "`what_needs` 7.0 GiB`more`, and this machine has 4.0; take a smaller `smaller`, or more machines".
void check_memory(double bytes, std::string_view what_needs, std::string_view smaller, std::string_view more = "");

/// What has come out is not what should have. Throws Error: "`what`: a mistake in `program` or below; ...".
[[noreturn]] void throw_mistake(std::string_view program, std::string_view what);

/// Seconds since `began_ns`, by the loop's clock, which becomes now.
double lap(Rank& self, std::uint64_t& began_ns);

/// Rank 0 prints the report, unless `options.quiet`, and writes it to `options.json_path`, if there is one.
template <class Report, class Options>
void tell(Rank& self, const Report& report, const Options& options) {
  if (self.id() != 0) return;
  if (!options.quiet) fmt::print("{}", to_text(report));
  if (!options.json_path.empty()) write_whole(to_json(report), options.json_path);
}

/// One line on a terminal that says how far the work is. Prints to standard error, and only where that is a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool is_wanted);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Some times a second at most; cheap between.
  void show(std::size_t done, std::size_t all);

  /// Makes room for other output.
  void clear();

 private:
  bool is_shown_;
  bool is_dirty_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
};

/// The trace: a line per iteration, with each rank's delay after the first. `times_s`: of each iteration one per rank;
/// `program` is named in the trace.
std::string arrival_trace(std::string_view program, std::span<const double> times_s, std::uint32_t ranks);

/// Records such a trace, for ranks that share a clock: those of one machine, or of `sim`.
class ArrivalLog {
 public:
  /// `limit`: iterations that are kept, the first ones.
  explicit ArrivalLog(std::size_t limit) : limit_(limit) {}

  /// This rank comes to the collective of the next iteration.
  void note(Rank& self) {
    if (times_ns_.size() < limit_) times_ns_.push_back(self.loop().exact_now_ns());
  }
  /// Collective, after the same number of notes everywhere, which is at least one: rank 0 writes the file. Throws Error
  /// when it can't. `program` is named in the file.
  Task<> write(Rank& self, std::string path, std::string program) const;

 private:
  std::size_t limit_;
  std::vector<std::uint64_t> times_ns_;
};

}  // namespace coracle
