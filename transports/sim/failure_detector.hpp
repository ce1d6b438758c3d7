// FailureDetector: how a simulated rank finds out that a peer is in trouble. Only what something here depends on is
// noticed: at once where a dead process is reached for, and after the silence limit where nothing comes.
#pragma once

#include <cstdint>
#include <map>

#include "transports/sim/faults.hpp"

namespace coracle::internals::sim {

class SimEnd;

class FailureDetector {
 public:
  explicit FailureDetector(SimEnd& of) noexcept : of_(of) {}

  /// To be called when something may have changed: at the end of each turn, and when faults begin or end.
  void look();

 private:
  friend class Verdict;
  struct Suspicion {
    Faults::Symptom symptom;
    std::uint64_t number;  // tells it from earlier ones about the same peer
  };
  Faults::Symptom symptom_that_matters(std::uint32_t peer) const noexcept;
  void decide(std::uint32_t peer, std::uint64_t number);

  SimEnd& of_;
  std::map<std::uint32_t, Suspicion> suspicions_;  // by peer
  std::uint64_t last_number_ = 0;
};

}  // namespace coracle::internals::sim
