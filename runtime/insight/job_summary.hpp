// JobSummary: what `coracle run --summary` says of a job: the sums over its ranks.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/insight/late_ranks.hpp"
#include "runtime/insight/rank_summary.hpp"

namespace coracle::internals {

/// A number of each rank.
struct Spread {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t sum = 0;
  std::uint32_t min_rank = 0;
  std::uint32_t max_rank = 0;
  std::uint64_t ranks = 0;

  void add(std::uint32_t rank, std::uint64_t value) noexcept;
  std::uint64_t mean() const noexcept { return ranks == 0 ? 0 : sum / ranks; }
};

/// A line of the program, over all ranks.
struct JobLine {
  WaitLine line;  ///< With `waited` of all ranks together.
  std::uint32_t worst_rank = 0;
  std::uint64_t worst_ns = 0;
};

/// What one rank has begun towards another.
struct JobPair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::array<std::uint64_t, kTrafficKinds> count{};
  std::array<std::uint64_t, kTrafficKinds> bytes{};
};

struct JobSummary {
  std::uint32_t size = 0;
  std::uint32_t nodes = 1;
  std::uint32_t ranks = 0;  ///< That were there.
  std::uint32_t cut = 0;    ///< Of these, that have not ended by themselves.
  bool is_virtual = false;
  std::uint64_t uncertainty_ns = 0;
  std::uint64_t duration_ns = 0;  ///< From the first rank's begin to the last event.
  Spread lifetime;
  Spread computing;
  Spread waiting;
  std::array<Spread, kWaitGroups> groups{};
  std::array<std::uint64_t, kWaitGroups> waits{};
  Spread unexplained;          ///< Waiting that is booked on no wait of the program: of the library's services.
  std::vector<JobLine> lines;  ///< The worst first.
  Waited other_lines;
  std::vector<JobPair> pairs;  ///< By rank.
  JobPair totals;              ///< Of all pairs, and of those without room.
  JobPair other_pairs;
  std::vector<CollectiveCalls> calls;  ///< By time; of all ranks together.
  std::uint64_t other_calls = 0;
  std::uint64_t other_entries = 0;  ///< Calls that were not kept, for late ranks.
  LateRanks late;
  std::array<std::uint64_t, 4> pages{};
  std::array<std::uint64_t, 4> page_bytes{};
  std::uint64_t page_uses = 0;
  std::uint64_t page_hits = 0;
};

JobSummary add_up(const JobSummaries& job);

/// Of a rank: its lifetime, and what of its waiting is booked nowhere.
std::uint64_t lifetime_of(const RankSummary& rank) noexcept;
std::uint64_t unexplained_of(const RankSummary& rank) noexcept;

/// How many bytes went from ranks to ranks: of messages and puts, and of gets of the other. Of a large job each cell is
/// of several ranks: rank r belongs to r * width / size.
struct ByteMatrix {
  std::uint32_t width = 0;
  std::vector<std::uint64_t> bytes;  ///< By from * width + to.
};
ByteMatrix byte_matrix(const JobSummary& job, std::uint32_t width_max);

/// One screen of text, lines with ends.
std::string screen_of(const JobSummary& job);
/// All of it, and of each rank; see docs/design/summary.md.
std::string json_of(const JobSummary& job, const JobSummaries& ranks);
/// The matrix as a picture (SVG).
std::string picture_of(const JobSummary& job);

/// "1.25 s", "340 us".
std::string time_text(std::uint64_t nanoseconds);
/// "1.5 MB", of 1000s.
std::string amount_text(std::uint64_t bytes);

}  // namespace coracle::internals
