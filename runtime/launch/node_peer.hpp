// NodePeer: a node as the launcher at the head of the job sees it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "runtime/job/exit_status.hpp"
#include "runtime/launch/control_stream.hpp"

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
  bool lost = false;      ///< Its launcher went before its ranks had ended.
  bool refused = false;   ///< It can't take part: its launcher only waits to be let go.
  bool reported = false;  ///< The answer to FrameType::report has come.

  /// Nothing more is to be expected from it.
  bool done() const noexcept { return end.has_value() || lost || refused; }

  /// "node 1", "node 1 (hostb)".
  std::string name() const;
  /// Why it went, in words for the user.
  std::string why_gone() const;
};

/// Starts the launcher of peer.node, on this machine or through options.shell. Throws Error.
void start_node(NodePeer& peer, const JobOptions& options);

/// What it has to know.
NodeDescription describe_node(const NodePeer& peer, const JobOptions& options);

}  // namespace coracle::internals
