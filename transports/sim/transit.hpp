// Transit: whatever is on its way between two ranks, with the operation that it carries out, if any.
#pragma once

#include <cstddef>

#include "runtime/rank/operation.hpp"
#include "transports/sim/schedule.hpp"

namespace coracle::internals::sim {

/// It owns itself, but for messages in inboxes.
class Transit : public ScheduledEvent {
 public:
  Transit() = default;
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;
  virtual ~Transit() = default;

  void abandon() noexcept override { delete this; }

  /// Null when it carries out none, or that has finished.
  Operation* operation = nullptr;
  /// Its operation has ended before it, since its sender is dead or has lost the target. What still needs the sender
  /// gets nowhere.
  bool orphaned = false;

 private:
  friend class SimEnd;
  std::size_t place_ = 0;  // among its sender's operations in flight
};

}  // namespace coracle::internals::sim
