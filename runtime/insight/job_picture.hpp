// JobPicture: what a job does at one moment, a line for each rank, as `coracle top` shows it: what its launcher
// answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/insight/rank_waits.hpp"
#include "runtime/insight/verdict.hpp"

namespace coracle::internals::insight {

struct RankPicture {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  Doing doing = Doing::starting;
  std::string does;                ///< "waits to receive from rank 3, tag 7 at ring.cpp:12"
  std::string does_alike;          ///< The same of any rank that does so: "... from another rank, ..."
  std::uint64_t for_ms = 0;        ///< For so long.
  std::uint64_t processor_ms = 0;  ///< This and what follows as RankState has it.
  std::uint64_t memory_bytes = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t collectives = 0;  ///< That it has begun, of all teams, as far as it has told.
};

struct JobPicture {
  std::string program;
  std::string placement;  ///< As to_string(Placement) has it.
  std::uint32_t size = 0;
  std::uint32_t nodes = 0;
  std::uint64_t age_ms = 0;        ///< For so long the job has run.
  std::vector<std::string> hangs;  ///< A sentence for each hang verdict that is certain.
  std::vector<RankPicture> ranks;  ///< By rank; empty: it is ending, or its launcher has stopped it.
};

/// The ranks as their states tell. Their nodes are left to who knows them.
std::vector<RankPicture> picture_of(std::span<const RankState> states);

/// One line.
std::string json_of(const JobPicture& picture);
/// Throws Error (bad_input) for what no json_of() has made, of this version.
JobPicture parse_picture(std::string_view json);

}  // namespace coracle::internals::insight
