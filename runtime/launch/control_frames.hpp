// What the launcher at the head of a job and the launchers of its nodes say to each other, as bytes. What comes from
// the other end is checked as strictly as if a stranger had sent it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

enum class ControlFrameType : std::uint8_t {
  // From the head.
  describe = 1,  ///< NodeDescription.
  directory,     ///< JobDirectory: start your ranks.
  end,           ///< SIGTERM to all ranks, SIGKILL soon after.
  kill,          ///< SIGKILL to all ranks.
  stop,          ///< As by Ctrl-Z.
  resume,
  report,        ///< Make your ranks say what they await.
  watch,         ///< Somewhere a rank has ended without calling coracle::run: tell when one of yours waits.
  input,         ///< Bytes for the standard input of the rank that reads it; none: its end.
  clock,         ///< std::uint32_t: what time is it?
  neighbours,    ///< std::vector<NodeInterfaces>: of all nodes, once all have answered; after `interfaces` only.
  look,          ///< Ask your ranks what they await.
  locate,        ///< std::vector<std::uint32_t>: find out where in the program these ranks are.
  forget_times,  ///< See WaitCollector.
  // From a node.
  hello,       ///< std::uint32_t: JobHeader::kVersion.
  interfaces,  ///< NodeInterfaces, of a node on another machine for which the user has named none.
  refused,     ///< std::string: why it can't take part.
  card,        ///< NodeCard.
  failed,      ///< JobFailure, the first of the node.
  unattached,  ///< std::string: a rank ended well without calling coracle::run.
  waits,       ///< The answer to `watch`.
  reported,    ///< The answer to `report`.
  output,      ///< Bytes of its ranks' standard output.
  errors,      ///< The same of standard error, where that does not go by itself.
  credit,      ///< std::uint32_t: bytes of input that have been passed on.
  time,        ///< ClockAnswer, with that number.
  trace,       ///< TracePart: all of them come before `ended`.
  summary,     ///< A RankSummary (bytes_of): all of them come before `ended`.
  ended,       ///< NodeEnd: all ranks have.
  states,      ///< The answer to `look` and `locate`: insight::RankState of each rank.
  last = states,
};

struct ControlFrame {
  ControlFrameType type{};
  std::vector<std::byte> payload;
};

/// What a node's launcher must know to take part.
struct NodeDescription {
  JobOptions options;  ///< Without what only the head needs: hosts, timeout.
  std::uint32_t node = 0;
  bool remote = false;  ///< On another machine: takes working directory and environment from here, forwards output.
  std::string working_directory;
  std::vector<std::string> environment;
};

/// How a node can be reached.
struct NodeCard {
  NodeRecord record;
  std::uint64_t machine = 0;         ///< The same for nodes that share a machine.
  std::vector<std::uint16_t> ports;  ///< Of its ranks.
};

struct JobDirectory {
  std::vector<NodeCard> cards;         ///< Of all nodes.
  std::uint32_t first_on_machine = 0;  ///< See MachineShare.
  std::uint32_t ranks_on_machine = 0;
};

struct NodeEnd {
  std::uint32_t failures = 0;  ///< Ranks that failed by themselves.
  bool attached = false;       ///< Any rank has come to coracle::run.
  std::string details;         ///< Of the first crash.
};

/// T: one of the above, JobFailure, ClockAnswer, TracePart, std::string, std::uint32_t or a vector of it, or one of
/// NodeInterfaces.
template <class T>
std::vector<std::byte> encode(T value);
/// Throws Error (bad_input) for bytes that no encode() has made.
template <class T>
T decode(std::span<const std::byte> bytes);

/// Cuts a stream of bytes into frames: a prelude once, then [length u32][type u8][payload] each.
class FrameParser {
 public:
  static constexpr std::string_view kPrelude = "coracle\x01";
  static constexpr std::size_t kPayloadMax = 16 << 20;
  static constexpr std::size_t kHeaderBytes = 5;

  void feed(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// The next whole frame. Throws Error (bad_input) for what is no such stream; then it must not be used any more.
  std::optional<ControlFrame> next();

  static std::vector<std::byte> header(ControlFrameType type, std::size_t payload_bytes);

 private:
  void compact();

  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
  bool begun_ = false;
};

}  // namespace coracle::internals
