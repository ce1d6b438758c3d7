// ArrivalTrace: how late the ranks of a real program came to a collective, iteration by iteration, recorded in a file.
//
// The file is text. `#` starts a comment. The first lines say what the numbers are:
//
//     unit = us
//     ranks = 8
//
// Each further line is one iteration: for every rank, in order, how long after the first of them it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::internals::bench {

struct ArrivalTrace {
  std::uint32_t ranks = 0;
  std::vector<double> delays_ns;  ///< Iteration by iteration, `ranks` of each.

  std::size_t iterations() const noexcept { return delays_ns.size() / ranks; }
};

/// Throws Error (bad_input): "`name`:line: what is wrong and how to mend it".
ArrivalTrace parse_arrival_trace(std::string_view text, std::string_view name);
/// Throws Error when the file can't be read.
ArrivalTrace read_arrival_trace(const std::string& path);

}  // namespace coracle::internals::bench
