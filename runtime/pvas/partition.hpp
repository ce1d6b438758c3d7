// One task's share of the arena: what the root maps into it before the task runs, and how it is given back.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/launch/spawn_options.hpp"
#include "runtime/pvas/control.hpp"
#include "runtime/pvas/initial_stack.hpp"
#include "runtime/pvas/program.hpp"

namespace coracle::pvas {

/// Owns the address range of `layout`: everything in it is unmapped at the end.
class Partition {
 public:
  explicit Partition(const Layout& layout) : layout_(layout) {}
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  ~Partition() { release(); }

  /// Maps stack, control block and image, writes arguments and orders. Throws Error.
  void prepare(const Launch& launch, const SpawnOptions& options, const std::vector<AuxEntry>& auxiliary);

  Control& control() const noexcept { return *reinterpret_cast<Control*>(layout_.control_begin()); }

  /// One munmap for all that the task has mapped. No task runs in it any more.
  void release() noexcept;

 private:
  void write_orders(StackWriter& writer, const SpawnOptions& options);

  Layout layout_;
  bool mapped_ = false;
};

}  // namespace coracle::pvas
