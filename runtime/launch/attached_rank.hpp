// AttachedRank: the rank that this process is, for a program whose main() is its own and calls an interface of
// functions: what boot() does around a program, in two halves.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/launch/boot.hpp"

namespace coracle::internals {

class RankReporter;

/// One at a time in a process. All from one thread, which turns the rank's loop whenever it waits for something; others
/// may turn the loop, too, where it has a gate.
class AttachedRank {
 public:
  /// Enters the job that `coracle run` or a resource manager has started this process for; else it is the only rank of
  /// its own. Throws Error where it can't: (unsupported) in a job whose ranks are threads, or simulated.
  /// `reporter`, which outlives this, speaks for the rank where one asks what it is doing. `gate`, which does so, too:
  /// of a loop that several threads turn, one at a time; null otherwise.
  AttachedRank(const Wiring& wiring, const RankReporter& reporter, LoopGate* gate = nullptr);
  /// Without finish() the process must end at once: the rank's operations are torn.
  ~AttachedRank();
  AttachedRank(const AttachedRank&) = delete;
  AttachedRank& operator=(const AttachedRank&) = delete;

  Rank& rank() noexcept;
  /// Which of the job's programs this is, counted from 0 in the order of their ranks.
  std::uint32_t program() const;
  /// How many ranks run that one; of all programs where the resource manager does not tell.
  std::uint32_t program_size() const;
  /// The program has ended here, as far as its ranks have to do with each other. Returns when it has everywhere; then
  /// there is no rank any more. Throws what has failed.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coracle::internals
