// Random traffic on a paged segment by all ranks, checked against what every rank can work out by itself.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::test {

struct PagedTraffic {
  PagedOptions options;
  std::uint64_t seed = 1;
  std::uint32_t phases = 3;
  std::uint32_t steps = 40;   ///< Puts of each rank in a phase; as many gets go with them.
  std::uint32_t at_once = 4;  ///< Transfers of a rank that are under way together.
  bool reopen = false;        ///< Closes and opens the segment between phases.
  bool durably = false;       ///< Flushes at random.
  /// At random a rank does nothing for as long as makes it idle in its peers' eyes. For `sim`.
  bool naps = false;
  /// Added to, unless null: pages that caches have taken in for others.
  std::uint64_t* taken_in = nullptr;
  /// Reads everybody's words while they are being put. Off for ThreadSanitizer where ranks share a cache: that is a
  /// race of the program's, which may read any mixture.
  bool races = true;
};

/// Words of 8 bytes belong to the ranks in turn, so that pages are shared as falsely as can be; each rank writes its
/// own and reads everybody's: nobody may see a word go back, and after each phase all words must be the last that their
/// owners put. Throws std::runtime_error with what was wrong.
Task<> run_paged_traffic(Rank& self, PagedTraffic traffic);

/// Of all ranks of a job.
struct PagedDeaths {
  std::uint64_t errors = 0;
  std::uint64_t taken_in = 0;
};

/// The same without phases, while ranks may die: what a get returns must be what its owner put last, or may be what it
/// tried to put when it got an error; all else must be errors. Every transfer must end.
Task<> run_mortal_traffic(Rank& self, PagedTraffic traffic, PagedDeaths& deaths);

}  // namespace coracle::internals::test
