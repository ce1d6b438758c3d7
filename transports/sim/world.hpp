// World: all ranks of a simulated job, in one thread. Each rank's loop is turned when something has come for it, one of
// its timers is due, or it has more to do; which of several such ranks goes first, the seed decides.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "runtime/boot.hpp"
#include "transports/sim/schedule.hpp"
#include "transports/sim/wires.hpp"

namespace coracle::sim {

class SimRank;
class SimTransport;

/// How a simulated job has ended.
struct Outcome {
  std::exception_ptr error;      ///< Null when all ranks have finished; else of the rank that failed, or of a deadlock.
  std::uint32_t rank = 0;        ///< Which rank failed.
  std::uint64_t virtual_ns = 0;  ///< How long the job took in its own time.
  std::uint64_t events = 0;
  std::uint64_t trace = 0;  ///< The same for two runs when the same happened in them, at the same times.
};

class World {
 public:
  /// All arguments must outlive the world.
  World(const JobRegion& region, const App& app, const Wiring& wiring, const NetworkModel& model);
  /// After a failure it leaves the ranks where they are: their coroutines wait for what will never happen, and they may
  /// not be destroyed while they wait. The process should end then.
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
  /// Something has come for `rank`: its loop looks at it as soon as its processor is free.
  void wake(std::uint32_t rank) noexcept;
  /// Keeps the processor of `rank` busy for so long; returns when that is over.
  std::uint64_t engage(std::uint32_t rank, std::uint64_t duration_ns) noexcept;
  /// A random time up to the model's jitter.
  std::uint64_t jitter_ns() noexcept { return random().up_to(model().jitter_ns); }

 private:
  friend class SimRank;

  bool wait_for_io();
  void explain_deadlock(Outcome& outcome);

  const JobRegion& region_;
  const App& app_;
  const Wiring& wiring_;
  Wires wires_;
  Schedule schedule_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::vector<SimRank*> with_io_;  // ranks that the kernel works for
  std::size_t finished_ = 0;
  SimRank* failed_ = nullptr;
  bool stuck_ = false;
};

}  // namespace coracle::sim
