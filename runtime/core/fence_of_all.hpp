// FenceOfAll: one rank makes all ranks of its node pass a memory fence (membarrier). So what happens often, telling
// others, needs no fence of its own; what happens rarely, going to sleep, pays for both.
#pragma once

#include "runtime/core/placement.hpp"

namespace coracle::internals {

class FenceOfAll {
 public:
  /// In every rank of the node, before it is used anywhere.
  explicit FenceOfAll(Placement placement) noexcept;
  /// False where the kernel has no such call: the same in all ranks of a node, which run under one kernel.
  bool works() const noexcept { return command_ != 0; }
  /// All ranks' loads and stores that come before in program order are seen here, and all that come after see what this
  /// rank has stored before. Some microseconds. Only where it works.
  void pass() const noexcept;

 private:
  int command_ = 0;
};

}  // namespace coracle::internals
