// PmixLauncher: the launcher of one node where a resource manager has started one on every node.
#pragma once

#include <memory>
#include <optional>

#include "runtime/launch/guardian.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/launcher_loop.hpp"
#include "runtime/launch/node_share.hpp"
#include "runtime/launch/pmix_client.hpp"
#include "runtime/launch/standard_files.hpp"
#include "runtime/launch/supervisor.hpp"

namespace coracle::internals {

/// As Launcher, but for one node of as many as there are launchers; the resource manager is told of a failure, and ends
/// the others. Rank 0's standard input is what the resource manager gives its launcher.
class PmixLauncher {
 public:
  /// Joins the job: waits for the other launchers. `options`: of the whole job; its nodes are counted here. Throws
  /// Error when there is nobody to talk to.
  explicit PmixLauncher(JobOptions options);
  ~PmixLauncher();
  PmixLauncher(const PmixLauncher&) = delete;
  PmixLauncher& operator=(const PmixLauncher&) = delete;

  int run();

 private:
  void join();
  Task<int> serve(Scope& services);
  std::unique_ptr<Supervisor> make_supervisor();
  Task<> wait_for_the_others();

  Guardian guardian_;  // before anything is mapped, and before there are threads
  LauncherLoop loop_;
  StandardFiles standard_;
  JobOptions options_;
  std::unique_ptr<PmixClient> client_;
  std::unique_ptr<NodeShare> share_;
  std::unique_ptr<Supervisor> supervisor_;
  std::optional<JobFailure> failure_;
};

/// Puts together what all have published: for the directory of node `node`, whose own card is among them.
JobDirectory directory_from(PmixClient& client, std::uint32_t node);

/// Where others shall look for this process's node: agreed upon by all, if they are on several machines and `interface`
/// (see JobOptions) is "".
std::vector<NodeAddress> addresses_for(PmixClient& client, const std::string& interface);

/// The keys under which processes publish their NodeInterfaces and their NodeCard.
inline constexpr const char* kPmixInterfaces = "coracle.interfaces";
inline constexpr const char* kPmixCard = "coracle.card";

}  // namespace coracle::internals
