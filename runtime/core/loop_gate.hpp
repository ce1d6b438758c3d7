// LoopGate: around the sleep of a loop that several threads turn, one at a time.
#pragma once

namespace coracle::internals {

/// Others may use the loop while it sleeps.
class LoopGate {
 public:
  /// The loop sleeps from now on, until its doorbell rings.
  virtual void open() noexcept = 0;
  /// It has been woken: returns when the loop is this thread's again.
  virtual void close() noexcept = 0;

 protected:
  ~LoopGate() = default;
};

}  // namespace coracle::internals
