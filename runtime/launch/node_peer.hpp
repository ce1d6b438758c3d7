// NodePeer: a node as the launcher at the head of the job sees it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/insight/rank_summary.hpp"
#include "runtime/insight/rank_waits.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/trace_parts.hpp"

namespace coracle::internals {

struct NodePeer {
  std::uint32_t node = 0;
  std::string host;  ///< "": this machine.
  pid_t pid = -1;    ///< Its launcher, or the ssh that leads to it; -1 once reaped.
  std::unique_ptr<ControlStream> stream;
  std::optional<NodeInterfaces> interfaces;  ///< Only where it is to choose one.
  std::unique_ptr<NodeCard> card;
  std::optional<NodeEnd> end;
  std::optional<ExitStatus> exit;  ///< Of `pid`.
  bool greeted = false;
  bool lost = false;     ///< Its launcher went before its ranks had ended.
  bool refused = false;  ///< It can't take part: its launcher only waits to be let go.
  NodeTraces traces;
  std::vector<RankSummary> summaries;                     ///< By rank, as they came.
  std::optional<ClockAnswer> time;                        ///< The latest ...
  std::uint64_t time_came_ns = 0;                         ///< ... and when it came, on this process's clock.
  bool reported = false;                                  ///< The answer to ControlFrameType::report has come.
  std::optional<std::vector<insight::RankState>> states;  ///< The answer to ControlFrameType::look.

  /// Nothing more is to be expected from it.
  bool done() const noexcept { return end.has_value() || lost || refused; }
  bool has_card() const noexcept { return card != nullptr; }
  /// Its launcher hears: of a node that can't take part, too, as long as it has not gone.
  bool hears() const noexcept { return stream != nullptr && !lost && pid > 0; }
  bool has_launcher() const noexcept { return pid > 0; }

  /// "node 1", "node 1 (hostb)".
  std::string name() const;
  /// Why it went, in words for the user.
  std::string why_gone() const;
  /// The failure as one of the node's: what is of another machine begins with the node's name, while processes of this
  /// one are found by their numbers alone.
  JobFailure failure(JobFailure of_rank) const;
  /// Not of one of its ranks: so it is named in any case.
  JobFailure failure(const std::string& what) const;
};

/// Starts the launcher of peer.node, on this machine or through options.shell. Throws Error.
void start_node(NodePeer& peer, const JobOptions& options);

/// What it has to know.
NodeDescription describe_node(const NodePeer& peer, const JobOptions& options);

/// To all who still have ranks.
void broadcast(std::vector<NodePeer>& peers, ControlFrameType type);
/// Once all have told of their networks: each chooses where to listen by those of the others.
void send_neighbours(std::vector<NodePeer>& peers);
/// Lets them start their ranks.
void send_directory(std::vector<NodePeer>& peers);

}  // namespace coracle::internals
