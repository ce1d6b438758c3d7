// AttachedRank: the rank that this process is, for a program whose main() is its own and calls an interface of
// functions: what boot() does around a program, in two halves.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/launch/boot.hpp"

namespace coracle::internals {

class RankReporter;

/// One at a time in a process. All from one thread, which turns the rank's loop whenever it waits for something.
class AttachedRank {
 public:
  /// Enters the job that `coracle run` or a resource manager has started this process for; else it is the only rank of
  /// its own. Throws Error where it can't: (unsupported) in a job whose ranks are threads, or simulated.
  /// `reporter`, which outlives this, speaks for the rank where one asks what it is doing.
  AttachedRank(const Wiring& wiring, const RankReporter& reporter);
  /// Without finish() the process must end at once: the rank's operations are torn.
  ~AttachedRank();
  AttachedRank(const AttachedRank&) = delete;
  AttachedRank& operator=(const AttachedRank&) = delete;

  Rank& rank() noexcept;
  /// Which of the job's programs this is, counted from 0 in the order of their ranks.
  std::uint32_t program() const;
  /// The program has ended here, as far as its ranks have to do with each other. Returns when it has everywhere; then
  /// there is no rank any more. Throws what has failed.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coracle::internals
