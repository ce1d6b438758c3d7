// Doubts: how a simulated rank finds out that a peer is in trouble. Only what something here depends on is noticed: at
// once where a dead process is reached for, and after the silence limit where nothing comes.
#pragma once

#include <cstdint>
#include <map>

#include "transports/sim/faults.hpp"

namespace coracle::internals::sim {

class SimEnd;

class Doubts {
 public:
  explicit Doubts(SimEnd& of) noexcept : of_(of) {}

  /// To be called when something may have changed: at the end of each turn, and when faults begin or end.
  void look();

 private:
  friend class Verdict;
  struct Doubt {
    Faults::Trouble trouble;
    std::uint64_t number;  // tells it from earlier ones about the same peer
  };
  Faults::Trouble trouble_that_matters(std::uint32_t peer) const noexcept;
  void decide(std::uint32_t peer, std::uint64_t number);

  SimEnd& of_;
  std::map<std::uint32_t, Doubt> doubts_;  // by peer
  std::uint64_t last_number_ = 0;
};

}  // namespace coracle::internals::sim
