// NodeLauncher: looks after the ranks of one node on behalf of the launcher at the head of the job.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/guardian.hpp"
#include "runtime/launch/launcher_loop.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/standard_files.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {

/// The process `coracle node`. All that it learns comes from its standard input, all that it has to tell goes to its
/// standard output: ssh carries both. When its standard input ends, the head is gone, and so is everything here.
class NodeLauncher {
 public:
  /// Descriptors that become the ranks' standard input and output; -1: these go through the head.
  struct Standard {
    int input = -1;
    int output = -1;
  };
  explicit NodeLauncher(Standard standard);
  ~NodeLauncher();
  NodeLauncher(const NodeLauncher&) = delete;
  NodeLauncher& operator=(const NodeLauncher&) = delete;

  int run();

 private:
  Task<int> serve(Scope& services);
  /// Up to the directory, in the order of the messages. False: the head is gone, or this launcher is to end.
  Task<bool> prepare_or_end();
  Task<bool> prepare();
  Task<bool> told_to_end();
  Task<std::optional<ControlFrame>> expect(ControlFrameType type);
  /// Where others shall look for this node. Nothing when the head is gone.
  Task<std::vector<NodeAddress>> find_addresses();
  void set_up_standard_files();
  /// What each of the ranks reads, of `--stdin all`. False: the head is gone.
  Task<bool> take_input();
  bool reads_input() const;
  void take_environment();

  std::unique_ptr<Supervisor> make_supervisor();
  Task<> supervise(Scope& services);
  Task<> start_ranks(Scope& services);
  Task<> obey_head(Scope& services);
  void obey(const ControlFrame& frame, Scope& services);
  void tell_time(const ControlFrame& question);
  Task<> send_traces();
  Task<> send_summaries();
  Task<bool> send_in_turn(ControlFrameType type, std::vector<std::byte> payload);
  Task<> report();
  Task<> tell_of_waits();
  Task<> tell_states(std::vector<std::uint32_t> located);
  Task<> let_go();

  Standard standard_;
  Guardian guardian_;  // before anything is mapped
  LauncherLoop loop_;
  ControlStream head_;
  HeadOutput head_output_{head_};
  Event head_gone_;
  std::unique_ptr<NodeDescription> description_;
  std::unique_ptr<NodeShare> share_;
  std::unique_ptr<OutputForwarder> output_;
  std::unique_ptr<InputForwarder> input_;
  std::unique_ptr<Supervisor> supervisor_;
  bool reporting_ = false;
  bool watching_ = false;  ///< See ControlFrameType::watch.
};

}  // namespace coracle::internals
