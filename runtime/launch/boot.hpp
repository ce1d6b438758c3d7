// Boot: from main() to a running Rank, in every placement. The layers above hand in what the runtime must not know.
#pragma once

#include <cstdint>
#include <exception>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/task.hpp"
#include "runtime/insight/rank_tools.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/app.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {

/// What boot needs from above.
struct Wiring {
  /// Bytes of a rank's inbox in the job's region, for jobs of so many ranks.
  std::uint64_t (*inbox_bytes)(std::uint32_t size);
  /// Gives the rank its transport.
  void (*connect)(Rank& rank);
  /// Collective at the end: returns when all ranks' programs have ended.
  Task<> (*finalize)(Rank& rank);
  /// Runs all ranks of a `sim` job in this thread; gives the exit status.
  int (*simulate)(const JobRegion& region, const App& app, const Wiring& wiring);
  /// What this process does where the launcher has started it to own the node's devices (DeviceOwnerRecord) instead of
  /// being a rank; gives the exit status. Null: it can't.
  int (*own_devices)(const JobRegion& region) = nullptr;
};

/// Runs `app` on the rank (or ranks: `thread`, `sim`) that this process is, and returns the exit status: 0, or 1 after
/// an error, which has been printed. Started without the launcher, the process is the only rank of a job.
int boot(const App& app, const Wiring& wiring);

/// One rank's life on the calling thread: program, finalize, end. Used by boot and by `simulate`.
Task<> live(Rank& rank, const App& app, const Wiring& wiring);

/// The job of a process that was started without a launcher: it is the only rank.
JobRegion region_for_one(const Wiring& wiring);

/// Prints "coracle: rank 3: ..." for the exception in flight.
void print_failure(std::uint32_t rank) noexcept;

/// A Rank with what it has from the start of the layers above it: the team of all ranks, and what moves layouts. The
/// only way to make a Rank.
class WholeRank final : public Rank {
 public:
  WholeRank(const JobRegion& region, std::uint32_t id, EventLoop& loop);
};

/// A rank of this process that has attached to its job: its loop, what reports of it, and the rank itself.
struct BootedRank {
  /// `is_launched`: a launcher looks at its block.
  BootedRank(const JobRegion& region, std::uint32_t id, bool is_launched);
  /// Gives it its transports. Gives what has failed: also then it must live(), since what the transports that came
  /// first have spawned must end before the rank does.
  std::exception_ptr connect(const Wiring& wiring);

  EventLoop loop;
  Diagnostics::Registration watch;
  RankTools tools;
  WholeRank rank;
};

}  // namespace coracle::internals
