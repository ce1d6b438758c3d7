// Simulation: all ranks of a simulated job, in one thread. Each rank's loop is turned when something has come for it,
// one of its timers is due, or it has more to do; which of several such ranks goes first, the seed decides.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "runtime/launch/boot.hpp"
#include "runtime/rank/peers.hpp"
#include "transports/sim/memory_guard.hpp"
#include "transports/sim/nature.hpp"
#include "transports/sim/sim_rank.hpp"
#include "transports/sim/sim_transport.hpp"

namespace coracle::internals::sim {

/// How a simulated job has ended.
struct SimulationResult {
  /// Null when all ranks have finished, but for those that the fault plan has taken out; else of the first rank that
  /// failed, or of a deadlock.
  std::exception_ptr error;
  std::uint32_t rank = 0;        ///< Which rank failed.
  bool of_all = false;           ///< Not that rank has failed, but the job: a deadlock, or no more memory.
  std::uint64_t virtual_ns = 0;  ///< How long the job took in its own time.
  std::uint64_t events = 0;
  std::uint64_t digest = 0;  ///< The same for two runs when the same happened in them, at the same times.
};

class Simulation final : public Nature, private SimRank::Runner {
 public:
  /// All arguments must outlive the simulation.
  Simulation(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model,
             FaultPlan faults = {});
  /// After a failure it leaves the ranks where they are: their coroutines wait for what will never happen, and they may
  /// not be destroyed while they wait. The process should end then. So it does with ranks that have died.
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs every rank's program to its end, or until one fails or none can go on.
  SimulationResult run();

  // --- of the ranks ---
  bool has_lost(std::uint32_t observer, std::uint32_t peer) noexcept override;
  void lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind) override;
  bool finished(std::uint32_t rank) const noexcept override;
  void wake(std::uint32_t rank) noexcept override;
  std::uint64_t engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept override;

 private:
  void rank_died(std::uint32_t rank) override;
  void look_around() override;
  void pump_messages() override;
  void has_io(SimRank& rank) noexcept override { with_io_.push_back(&rank); }
  void has_ended(SimRank& rank) noexcept override;

  bool over() const noexcept;
  bool tell_of_ended();
  bool wait_for_io();
  void explain_deadlock(SimulationResult& outcome);
  void explain_memory(SimulationResult& outcome);

  SimTransports transports_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::vector<SimRank*> with_io_;  // ranks that the kernel works for
  std::size_t finished_ = 0;
  MemoryGuard memory_;
  SimRank* failed_ = nullptr;
  bool stuck_ = false;
};

}  // namespace coracle::internals::sim

namespace coracle::internals {

/// Runs a job of placement `sim`: all ranks in this thread, on the network that the job's shape names and with its
/// seed. Returns 0 when all have finished; ends the process with exit status 1 when one fails or none can go on, and
/// says which seed repeats that. Throws Error for a bad network model. See Wiring::simulate.
int simulate(const JobRegion& region, const App& app, const Wiring& wiring);

}  // namespace coracle::internals
