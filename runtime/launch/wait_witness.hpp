// WaitWitness: a rank's answer to its launcher's question what it awaits.
#pragma once

#include <atomic>

#include "runtime/core/event_loop.hpp"
#include "runtime/insight/rank_waits.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

class Rank;
class RankReporter;

/// What `rank` awaits. In its own thread, and in no signal handler. `reporter`: of an interface's program; or null.
insight::RankWaits waits_of(Rank& rank, const RankReporter* reporter = nullptr);

/// While it lives, the rank's loop answers questions when it finds nothing to do (WaitsAnswer): so that a rank can take
/// its time over the answer, and is in a state that can be read. One that computes does not answer.
class WaitWitness final : private IdleObserver {
 public:
  /// All outlive it.
  WaitWitness(Rank& rank, RankBlock& block, const RankReporter* reporter = nullptr) noexcept;
  ~WaitWitness();
  WaitWitness(const WaitWitness&) = delete;
  WaitWitness& operator=(const WaitWitness&) = delete;

 private:
  void falls_asleep() noexcept override;
  bool is_asked() const noexcept override {
    // A hint: falls_asleep() looks properly.
    return waits_.asked.load(std::memory_order_relaxed) != waits_.answered.load(std::memory_order_relaxed);
  }
  void answer() noexcept;

  Rank& rank_;
  WaitsAnswer& waits_;
  const RankReporter* reporter_;
  std::uint64_t sleeps_ = 0;
};

}  // namespace coracle::internals
