// FaultPlan: what goes wrong in a simulated job, and when: written by hand, or drawn from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/job.hpp"

namespace coracle::internals::sim {

struct Fault {
  enum class Kind : std::uint8_t {
    kill,   ///< A rank dies, and whoever is concerned is told at once; or a node, which just falls silent.
    stop,   ///< Neither runs nor answers, as after SIGSTOP.
    cut,    ///< Nothing gets through between two parties; what is under way comes when the cut ends.
    reset,  ///< The connections between two parties are lost, and both are told at once.
    delay,  ///< All that goes between two parties comes later by `delay_ns`.
  };
  /// A rank, or all ranks of a node.
  struct Party {
    bool is_node = false;
    std::uint32_t number = 0;
  };
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  Kind kind = Kind::kill;
  std::uint64_t at_ns = 0;
  Party first;
  Party second;                     ///< Of cut, reset and delay.
  std::uint64_t for_ns = kForEver;  ///< How long stop, cut and delay last.
  std::uint64_t delay_ns = 0;
};

/// In order of time.
using FaultPlan = std::vector<Fault>;

/// Reads the text of a plan, one fault in each line, `#` starts a comment:
///
///     2 ms kill rank 3
///     2 ms stop node 1 for 5 ms
///     1.5 ms cut rank 0 rank 2 for 300 us
///     0 s delay node 0 node 1 by 1 ms for 10 ms
///     7 ms reset node 0 node 1
///
/// Throws Error (bad_input): "`name`:line: what is wrong and how to mend it".
FaultPlan parse_faults(std::string_view text, std::string_view name, const JobShape& shape);
/// One to four faults with the most of chance, in the first `horizon_ns` of the job. The same for the same arguments.
FaultPlan random_faults(std::uint64_t seed, std::uint64_t horizon_ns, const JobShape& shape);
/// None for "", random ones for "random", else from a file. Throws Error when that can't be read.
FaultPlan read_faults(const std::string& source, const JobShape& shape);

/// Exact, in the largest unit that needs no fraction: "3 ms".
std::string time_text(std::uint64_t ns);
/// In the form that parse_faults reads.
std::string to_text(const Fault& fault);
std::string to_text(const FaultPlan& plan);

}  // namespace coracle::internals::sim
