// NodeLauncher: looks after the ranks of one node on behalf of the launcher at the head of the job.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/forwarding.hpp"
#include "runtime/launch/guardian.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/signal_pipe.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {

/// The process `coracle node`. All that it learns comes from its standard input, all that it has to tell goes to its
/// standard output: ssh carries both. When its standard input ends, the head is gone, and so is everything here.
class NodeLauncher final : private PollHandler {
 public:
  /// Descriptors that become the ranks' standard input and output; -1: these go through the head.
  struct Standard {
    int input = -1;
    int output = -1;
  };
  explicit NodeLauncher(Standard standard);
  ~NodeLauncher() override;

  int run();

 private:
  void want(std::vector<pollfd>& set) const override;
  void handle() override;
  int patience_ms() const override { return watching_ ? 200 : -1; }

  bool await(const std::function<bool()>& there);
  bool asked_to_end();
  /// Where others shall look for this node. Nothing when the job has been ended meanwhile.
  std::vector<NodeAddress> find_addresses();
  void set_up_standard_files();
  void take_environment();
  void start();
  void serve_until_the_end();
  void obey(const ControlFrame& frame);
  void tell_unattached();
  std::vector<PollHandler*> poll_handlers();

  Standard standard_;
  Guardian guardian_;  // before anything is mapped
  SignalPipe signals_;
  ControlStream head_;
  std::unique_ptr<NodeDescription> description_;
  std::vector<NodeInterfaces> neighbours_;
  std::unique_ptr<JobDirectory> directory_;
  std::unique_ptr<NodeShare> share_;
  std::unique_ptr<OutputForwarder> output_;
  std::unique_ptr<InputForwarder> input_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<ControlFrame> early_;  ///< What came along with the directory, for the supervisor.
  bool told_unattached_ = false;
  bool watching_ = false;  ///< See FrameType::watch.
  bool reporting_ = false;
  bool head_lost_ = false;
};

}  // namespace coracle::internals
