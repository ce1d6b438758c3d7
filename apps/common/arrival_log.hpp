// How late each rank comes to a collective, iteration by iteration, as a trace that `coracle bench arrival --arrival
// FILE` reads; and ArrivalLog, which records it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coracle/coracle.hpp>

namespace coracle {

/// The trace: a line per iteration, with each rank's delay after the first. `times_s`: of each iteration one per rank;
/// `program` is named in the trace.
std::string arrival_trace(std::string_view program, std::span<const double> times_s, std::uint32_t ranks);

/// For ranks that share a clock: those of one machine, or of `sim`.
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
