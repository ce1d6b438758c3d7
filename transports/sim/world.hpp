// World: all ranks of a simulated job, in one thread. Each rank's loop is turned when something has come for it, one of
// its timers is due, or it has more to do; which of several such ranks goes first, the seed decides.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "runtime/boot.hpp"
#include "runtime/peers.hpp"
#include "transports/sim/faults.hpp"
#include "transports/sim/memory_watch.hpp"
#include "transports/sim/schedule.hpp"
#include "transports/sim/wires.hpp"

namespace coracle::internals::sim {

class SimRank;
class SimTransport;

/// How a simulated job has ended.
struct Outcome {
  /// Null when all ranks have finished, but for those that the fault plan has taken out; else of the first rank that
  /// failed, or of a deadlock.
  std::exception_ptr error;
  std::uint32_t rank = 0;        ///< Which rank failed.
  bool of_all = false;           ///< Not that rank has failed, but the job: a deadlock, or no more memory.
  std::uint64_t virtual_ns = 0;  ///< How long the job took in its own time.
  std::uint64_t events = 0;
  std::uint64_t trace = 0;  ///< The same for two runs when the same happened in them, at the same times.
};

class World {
 public:
  /// All arguments must outlive the world.
  World(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model,
        FaultPlan faults = {});
  /// After a failure it leaves the ranks where they are: their coroutines wait for what will never happen, and they may
  /// not be destroyed while they wait. The process should end then. So it does with ranks that have died.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Runs every rank's program to its end, or until one fails or none can go on.
  Outcome run();

  // --- for transports ---
  const JobRegion& region() const noexcept { return region_; }
  Schedule& schedule() noexcept { return schedule_; }
  Random& random() noexcept { return schedule_.random(); }
  Wires& wires() noexcept { return wires_; }
  const NetworkModel& model() const noexcept { return wires_.model(); }
  SimTransport& transport(std::uint32_t rank) noexcept;
  Faults& faults() noexcept { return faults_; }
  /// How long the first byte takes between two ranks, without chance.
  std::uint64_t latency_ns(std::uint32_t from, std::uint32_t to) const noexcept {
    return wires_.link(from, to).latency_ns + faults_.delay_ns(from, to);
  }
  bool has_lost(std::uint32_t observer, std::uint32_t peer) noexcept;
  /// Whether anything at all can go wrong in this job but its program.
  bool may_lose_ranks() const noexcept { return faults_.any_planned() || region_.shape().network.survive; }
  /// `observer` finds out that it has lost `peer`, which is told in turn.
  void lose(std::uint32_t observer, std::uint32_t peer, const std::string& reason, Loss::Kind kind);
  /// `from` closes its connection with `to`, which finds out as soon as the network lets it.
  void send_reset(std::uint32_t from, std::uint32_t to, const char* reason);
  bool finished(std::uint32_t rank) const noexcept;
  /// Something has come for `rank`: its loop looks at it as soon as its processor is free.
  void wake(std::uint32_t rank) noexcept;
  /// Keeps the processor of `rank` busy for so long; returns when that is over.
  std::uint64_t engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept;
  /// A random time up to the model's jitter.
  std::uint64_t jitter_ns() noexcept { return random().up_to(model().jitter_ns); }

  // --- for faults ---
  void rank_died(std::uint32_t rank);
  /// Every rank looks whether something has changed for it.
  void look_around();
  /// Messages that a fault has held up go on.
  void pump_messages();

 private:
  friend class SimRank;

  bool over() const noexcept;
  bool tell_of_ended();
  bool wait_for_io();
  void explain_deadlock(Outcome& outcome);
  void explain_memory(Outcome& outcome);

  const JobRegion& region_;
  const App& app_;
  const Wiring& wiring_;
  Wires wires_;
  Faults faults_;
  Schedule schedule_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::vector<SimRank*> with_io_;  // ranks that the kernel works for
  std::size_t finished_ = 0;
  MemoryWatch memory_;
  SimRank* failed_ = nullptr;
  bool stuck_ = false;
};

}  // namespace coracle::internals::sim
