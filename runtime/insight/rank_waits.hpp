// What is known of the ranks of a job when one asks why it stands still: RankWaits, which a rank says of itself, and
// RankState, to which its launcher adds what it sees from outside. Pure data, which travels as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/wait_detail.hpp"

namespace coracle::internals::insight {

/// One wait of a coroutine.
struct Wait {
  static constexpr std::uint64_t kAnyTag = ~std::uint64_t{0};

  WaitKind kind = WaitKind::inside;
  bool of_library = false;  ///< Of the library's own services: what these wait for in general ends nothing.
  std::int32_t peer = -1;   ///< A rank.
  std::uint32_t team = WaitDetail::kNoTeam;
  std::uint64_t tag = 0;
  std::uint64_t waited_ms = 0;
  std::string what;                  ///< "receive"
  std::string place;                 ///< The program's: "cg.cpp:88"; "": not known.
  std::vector<std::string> callers;  ///< Where each coroutine is awaited by the next outer one; at most eight.
};

/// How far a rank is in the collectives of one of its teams.
struct TeamProgress {
  std::uint32_t team = 0;  ///< Its identity; 0: all ranks.
  std::uint32_t size = 0;
  std::uint64_t number = 0;  ///< Of its latest collective.
  bool under_way = false;    ///< That, or an earlier one, has not ended.
  bool finalizes = false;    ///< It is the last barrier of the job: the program has ended here.
  std::string call;          ///< "all_reduce of 8 bytes"
  std::string place;
  std::vector<std::uint32_t> members;  ///< Ranks; empty: all of the job, or too many.
};

/// A message that has come and is not received yet.
struct Unreceived {
  std::uint32_t team = 0;
  std::uint32_t rank = 0;  ///< The sender.
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};

struct RankWaits {
  std::uint64_t digest = 0;  ///< Of all waits: the same as long as none has ended or begun.
  std::string call;  ///< Of an interface's function (MPI), and the program's frames: raw, as readable_crash() wants it.
  std::vector<Wait> waits;
  std::vector<TeamProgress> teams;
  std::vector<Unreceived> unreceived;
  std::uint32_t left_out = 0;  ///< Waits for which there was no room.
};

enum class Doing : std::uint8_t {
  starting,  ///< Has not come to coracle::run.
  waiting,
  running,  ///< Its loop does not turn.
  stopped,  ///< By a signal.
  ended,
  last = ended,
};

struct RankState {
  std::uint32_t rank = 0;
  Doing doing = Doing::starting;
  std::uint64_t still_ms = 0;      ///< For so long its waits have been the same, or its loop has not turned.
  RankWaits waits;                 ///< Of one that runs: its last, if it has ever said some.
  std::string function;            ///< Of an interface, that it is in: "MPI_Recv".
  std::string place;               ///< Where that was called, or where it runs.
  std::string stack;               ///< Of one that runs: further lines.
  bool in_system_call = false;     ///< It does not run, but sleeps in the kernel.
  std::uint64_t processor_ms = 0;  ///< It has run for so long: its process, or its thread where all are one process.
  std::uint64_t memory_bytes = 0;  ///< Resident, of its address space, in which there may be others.
  std::uint64_t sleeps = 0;        ///< So many times its loop has gone to sleep.
};

/// Keeps to `room` by leaving out waits, and then what else is long.
std::vector<std::byte> encode(RankWaits waits, std::size_t room);
/// Throws Error (bad_input) for what is none.
RankWaits decode_waits(std::span<const std::byte> bytes);
std::vector<std::byte> encode(const std::vector<RankState>& states);
std::vector<RankState> decode_states(std::span<const std::byte> bytes);

}  // namespace coracle::internals::insight
