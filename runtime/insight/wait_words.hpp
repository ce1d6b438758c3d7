// How waits, teams and ranks are called in sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/insight/rank_waits.hpp"
#include "runtime/insight/wait_graph.hpp"

namespace coracle::internals::insight {

/// "rank 3", "ranks 0 to 2 and 5"; of many the first ones, and how many more.
std::string ranks_text(std::span<const std::uint32_t> ranks);
/// "all ranks" or "team 2.1": the first that rank 2 has made.
std::string team_text(std::uint32_t identity, std::size_t job_size);
/// " at cg.cpp:88", or nothing.
std::string at_place(const std::string& place);
/// " for 40 s"
std::string for_time(std::uint64_t milliseconds);
/// Where the program waits: its own place, or that of the interface's function that it is in.
const std::string& place_of(const RankState& state, const Wait& wait);
/// Whether its function is over, so that it only waits for the end of the job.
bool has_left(const RankState& state);
/// The wait that tells most of what a rank waits for; null: it has none.
const Wait* main_wait(const RankState& state);
/// "waits to receive from rank 1, tag 7, at cg.cpp:88"; "is in barrier #3 of all ranks at cg.cpp:90"; "computes at
/// solver.cpp:301 for 40 s".
std::string doing_text(const WaitGraph& graph, std::uint32_t rank);
/// Whether the one rank that another waits for has its number in a sentence: without it, many do the same.
enum class PeerNames : std::uint8_t { number, another };
/// The same without the time.
std::string doing_words(const WaitGraph& graph, std::uint32_t rank, PeerNames names = PeerNames::number);
/// The same of one of its waits.
std::string wait_text(const WaitGraph& graph, std::uint32_t rank, const Wait& wait,
                      PeerNames names = PeerNames::number);
/// "all_reduce of 8 bytes #12 of all ranks"
std::string call_text(const TeamProgress& team, std::size_t job_size);
/// The place at which `rank` is to be looked at; "": not known.
std::string place_of(const WaitGraph& graph, std::uint32_t rank);

}  // namespace coracle::internals::insight
