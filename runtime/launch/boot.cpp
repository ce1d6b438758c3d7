// Boot, by placement.
#include "runtime/launch/boot.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/insight/rank_tools.hpp"
#include "runtime/job/diagnostics.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/library_check.hpp"
#include "runtime/launch/pmix_rank.hpp"
#include "runtime/launch/rank_environment.hpp"
#include "runtime/launch/wait_witness.hpp"
#include "runtime/rank/exchange.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

JobRegion region_for_one(const Wiring& wiring) {
  check_is_started_alone();
  JobShape shape;
  shape.placement = Placement::thread;
  shape.inbox_bytes = wiring.inbox_bytes(1);
  return JobRegion::create(shape, JobRegion::Backing::anonymous);
}

namespace {

Task<> fail(std::exception_ptr failure) {
  std::rethrow_exception(failure);
  co_return;
}

int run_rank(const JobRegion& region, std::uint32_t id, const App& app, const Wiring& wiring,
             bool under_launcher = true) noexcept {
  RankBlock& block = region.block(id);
  try {
    BootedRank self(region, id, under_launcher);
    std::optional<WaitWitness> witness;
    if (under_launcher) witness.emplace(self.rank, block);
    const std::exception_ptr failure = self.connect(wiring);
    self.loop.run(live(self.rank, failure ? App([failure](Rank&) { return fail(failure); }) : app, wiring));
  } catch (...) {
    leave_failure_record(block, std::current_exception());
    print_failure(id);
    return 1;
  }
  block.phase.store(RankPhase::finished, std::memory_order_release);  // as in attach()
  return 0;
}

/// Started by a resource manager, one process per rank.
int run_under_pmix(const App& app, const Wiring& wiring) {
  PmixRank self(wiring.inbox_bytes(1));
  const int status = run_rank(self.region(), self.rank(), app, wiring, false);
  std::fflush(nullptr);  // what follows may end this process
  self.finish(status);
  return status;
}

int run_threads(const JobRegion& region, const App& app, const Wiring& wiring) {
  std::vector<std::thread> threads;
  for (std::uint32_t id = region.first_rank(); region.is_local(id); ++id) {
    threads.emplace_back([&region, id, &app, &wiring] {
      if (run_rank(region, id, app, wiring) == 0) return;
      // The other ranks may wait for this one for ever; they are threads, so the process ends for all.
      std::fflush(nullptr);
      std::_Exit(1);
    });
  }
  for (auto& thread : threads) thread.join();
  return 0;
}

}  // namespace

void print_failure(std::uint32_t rank) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "coracle: rank %u: %s\n", rank, error.what());
  } catch (...) {
    std::fprintf(stderr, "coracle: rank %u: ended by an exception that is not a std::exception\n", rank);
  }
}

namespace {

/// What still is on its way to peers goes out before this rank's connections end.
Task<> take_leave(Rank& rank) {
  constexpr auto kPause = std::chrono::microseconds(50);
  const std::uint64_t until_ns = rank.loop().exact_now_ns() + rank.core().region().shape().network.silence_limit_ns;
  while (!rank.core().routes().leave() && rank.loop().exact_now_ns() < until_ns) co_await sleep_for(kPause);
}

/// A rank that has failed must end, also when what it does for a peer can't be cancelled and never finishes.
Task<> bound_service(Rank& rank, std::exception_ptr failure) {
  constexpr std::uint64_t kLimitNs = 300'000'000;
  const std::uint64_t until_ns = rank.loop().exact_now_ns() + kLimitNs;
  while (rank.service().running() > 0 && rank.loop().exact_now_ns() < until_ns)
    co_await sleep_for(std::chrono::milliseconds(1));
  if (rank.service().running() == 0) co_return;
  try {
    std::rethrow_exception(failure);
  } catch (...) {
    print_failure(rank.id());
  }
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace

Task<> live(Rank& rank, const App& app, const Wiring& wiring) {
  std::exception_ptr failure;
  try {
    co_await app(rank);
    co_await rank.nbi_done();
    co_await wiring.finalize(rank);
    co_await take_leave(rank);
  } catch (...) {
    failure = std::current_exception();
    leave_failure_record(rank.core().region().block(rank.id()), failure);
  }
  rank.service().cancel();
  if (failure) co_await bound_service(rank, failure);
  std::exception_ptr error = co_await join_quietly(rank.service());
  static_cast<void>(error);  // what served peers has been told of its cancellation, and nobody is left to be served
  if (failure) std::rethrow_exception(failure);
}

int boot(const App& app, const Wiring& wiring) {
  try {
    const Diagnostics diagnostics;
    std::optional<JobRegion> region = JobRegion::attach_from_environment();
    if (!region && PmixClient::is_wanted()) return run_under_pmix(app, wiring);
    if (!region) {
      const JobRegion alone = region_for_one(wiring);
      return run_rank(alone, 0, app, wiring, false);
    }
    if (std::getenv(DeviceOwnerRecord::kVariable) != nullptr)
      return wiring.own_devices == nullptr ? 1 : wiring.own_devices(*region);
    switch (region->shape().placement) {
      case Placement::pvas:
      case Placement::process:
        return run_rank(*region, rank_from_environment(), app, wiring);
      case Placement::thread:
        return run_threads(*region, app, wiring);
      case Placement::sim:
        return wiring.simulate(*region, app, wiring);
    }
    return 1;
  } catch (...) {
    print_failure(rank_from_environment());
    return 1;
  }
}

namespace {

RankBlock& attach(const JobRegion& region, std::uint32_t id) noexcept {
  RankBlock& block = region.block(id);
  block.pid.store(::getpid(), std::memory_order_relaxed);
  block.thread.store(static_cast<std::int32_t>(::syscall(SYS_gettid)), std::memory_order_relaxed);
  // release: pairs with the launcher's acquire, which takes an exit from here on for a rank's.
  block.phase.store(RankPhase::attached, std::memory_order_release);
  return block;
}

/// Before there is a rank: its collectives keep in mind whether each has a core.
EventLoop& that_idles_as(const JobRegion& region, EventLoop& loop) noexcept {
  loop.set_idle_policy(region.shape().idle);
  return loop;
}

}  // namespace

BootedRank::BootedRank(const JobRegion& region, std::uint32_t id, bool is_launched)
    : loop(real_clock(), &attach(region, id).doorbell),
      watch(static_cast<int>(id), is_launched ? &region.block(id) : nullptr, loop),
      tools(region, id, loop),
      rank(region, id, that_idles_as(region, loop)) {}

std::exception_ptr BootedRank::connect(const Wiring& wiring) {
  try {
    refuse_other_library(rank.core().region(), rank.id());
    wiring.connect(rank);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

WholeRank::WholeRank(const JobRegion& region, std::uint32_t id, EventLoop& loop) : Rank(region, id, loop) {
  core().set_layout_mover(local<scattered::Exchange>());
  const auto all = std::make_shared<Team>(*this);
  set_world(all, all->core());
}

}  // namespace coracle::internals
