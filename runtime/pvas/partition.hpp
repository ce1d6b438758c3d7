// One task's share of the arena: what the root maps into it before the task runs, and how it is given back.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/job/process.hpp"
#include "runtime/pvas/control.hpp"
#include "runtime/pvas/image.hpp"
#include "runtime/pvas/program.hpp"
#include "runtime/pvas/sites.hpp"

namespace coracle::internals::pvas {

/// Owns the address range of `layout`: everything in it is unmapped at the end.
class Partition {
 public:
  /// `sites` outlives the partition; null leaves system calls as they are.
  Partition(const PartitionLayout& layout, SiteCache* sites) : layout_(layout), sites_(sites) {}
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;
  ~Partition() { release(); }

  /// Maps all that a task needs to start, writes its arguments and orders. Throws Error; what was mapped goes with the
  /// object.
  void prepare(const ProgramLaunch& launch, const SpawnOptions& options, const std::vector<AuxEntry>& auxiliary);

  /// The part of prepare() without a program: control block and stubs, below them a stack of `stack_size` bytes.
  void prepare_control(std::uint64_t stack_size);

  Control& control() const noexcept { return *reinterpret_cast<Control*>(layout_.control_begin()); }

  /// True until the task's libc has begun to allocate, which it does after its libraries are mapped.
  bool is_starting() const noexcept;

  /// One munmap for all that the task has mapped, and one for each mapping that the kernel placed elsewhere. No task
  /// runs in it any more.
  void release() noexcept;

  /// Unmaps the rings of io_uring alone: a ring lives as long as it is mapped, and holds open what is asked for in it.
  /// No task runs here any more.
  void release_rings();

 private:
  void prepare_image(const ProgramLaunch& launch);
  void write_orders(StackWriter& writer, const SpawnOptions& options);

  PartitionLayout layout_;
  SiteCache* sites_;
  bool control_mapped_ = false;
};

}  // namespace coracle::internals::pvas
