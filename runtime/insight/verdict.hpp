// HangVerdict: why a job stands still, as data and as a sentence that names the ranks and places to look at.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/insight/rank_waits.hpp"

namespace coracle::internals::insight {

struct HangVerdict {
  enum class Kind : std::uint8_t {
    cycle,           ///< Ranks wait for each other in a ring.
    mismatch,        ///< A message has come that the receive does not want: another tag, another sender.
    missing_member,  ///< A collective waits for members that will not come.
    stopped_rank,    ///< Someone has stopped a rank that others wait for.
    ended_rank,      ///< A rank that others wait for has left its function.
    nobody,          ///< What is awaited nobody is left to bring about: a lost signal, a scope that never ends.
    running_rank,    ///< Ranks wait for one that computes. It may only be slow.
  };
  Kind kind = Kind::nobody;
  std::vector<std::uint32_t> culprits;  ///< The ranks to look at.
  std::vector<std::uint32_t> waiting;   ///< Those that can't go on because of it.
  std::vector<std::string> places;      ///< "cg.cpp:88", each once.
  std::string sentence;
  std::vector<std::string> details;  ///< A line each.

  /// Whether the job can't go on. False: it may only be slow.
  bool is_certain() const noexcept { return kind != Kind::running_rank; }
  /// The same for the same situation, whatever time has passed.
  std::string key() const;
};

const char* name_of(HangVerdict::Kind kind) noexcept;

/// What the states of all ranks, by rank, tell. `stall_ms`: only of waits that have lasted so long. Empty: every rank
/// goes on, as far as can be known. What is certain comes first.
std::vector<HangVerdict> find_verdicts(std::span<const RankState> states, std::uint64_t stall_ms);

/// Of which ranks it should be found out where in the program they are, before find_verdicts(): those that run, and
/// those in functions of an interface, as far as somebody has waited for them, or they have, for the stall time.
std::vector<std::uint32_t> ranks_to_locate(std::span<const RankState> states, std::uint64_t stall_ms);

/// Where everything is known to stand still (`sim`), of waits of any age.
inline std::vector<HangVerdict> find_verdicts(std::span<const RankState> states) {
  return find_verdicts(states, 0);
}

/// As people read it: some lines, each ended.
std::string text_of(std::span<const HangVerdict> verdicts);
/// A line for each rank, of many the first ones: for who asks while all is well.
std::string summary_of(std::span<const RankState> states);
/// For machines: {"verdicts": [...], "ranks": [...]}; one line.
std::string json_of(std::span<const HangVerdict> verdicts, std::span<const RankState> states);

struct LoggedJob {
  std::string time;
  int job = 0;  ///< Its number for `coracle why`.
  std::string command;
};
/// A line of a stall log, with its end: an object with these, and that of json_of() as `explanation`.
std::string log_line(const LoggedJob& job, std::span<const HangVerdict> verdicts, std::span<const RankState> states);

}  // namespace coracle::internals::insight
