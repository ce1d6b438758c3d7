// Phase: a part of a collective, for traces and tools.
#pragma once

#include <cstdint>

#include "runtime/core/events.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// From its making to its end; where no tool is told, nothing.
class Phase {
 public:
  /// `sequence`: of the collective. `name`: a literal. `leader`: the rank that speaks for this node, or from which this
  /// one takes.
  Phase(Team& team, std::uint64_t sequence, const char* name, std::uint32_t leader);
  ~Phase() {
    if (events_ != nullptr) [[unlikely]]
      end();
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  void end() const noexcept;

  Events* const events_;
  std::uint64_t id_;
};

}  // namespace coracle::internals
