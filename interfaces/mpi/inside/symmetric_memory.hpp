// SymmetricMemory: what each member of a communicator has for the others, with signals, and transfers that are begun
// one by one and completed together: what <coracle.h> is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/rank/handle.hpp"
#include "runtime/rank/transfer.hpp"

namespace coracle::mpi {

/// Used by its own rank's thread, which must free it before MPI_Finalize. Ranks are those of the communicator.
class SymmetricMemory {
 public:
  /// Collective: `bytes` of memory, all zero, and `signals` counters here. Sizes may differ. Throws Error
  /// (segment_full) at all members where one has no room.
  SymmetricMemory(Comm& comm, std::size_t bytes, std::size_t signals);

  std::byte* local() const noexcept { return bytes_.data(); }
  int rank() const noexcept { return comm_->rank(); }
  int size() const noexcept { return comm_->size(); }

  /// Begin; `source` and `target` are in use until flush(). Throw Error: (bad_input) for a rank or signal that there is
  /// not; (out_of_segment) beyond the end of the peer's memory, when nothing is moved.
  void put(int rank, std::size_t offset, const void* source, std::size_t bytes);
  void put_signal(int rank, std::size_t offset, const void* source, std::size_t bytes, std::size_t signal);
  void get(int rank, std::size_t offset, void* target, std::size_t bytes);
  /// Returns when all have ended. Throws the first failure since the last time.
  void flush();
  /// Waits until this member's own signal has reached `count`.
  void wait_signal(std::size_t signal, std::uint64_t count);
  /// 0 for a signal that there is not.
  std::uint64_t signal_count(std::size_t signal) const noexcept;
  /// Collective: flush, and a barrier. After it this may die.
  void end();

 private:
  /// A member's.
  struct Part {
    internals::Remote<std::byte> memory;
    internals::Remote<internals::Signal> signals;
    std::uint64_t bytes;
    std::uint64_t signal_count;
    bool is_there;
  };
  Part allocate(std::size_t bytes, std::size_t signals);
  internals::Remote<std::byte> place(int rank, std::size_t offset, std::size_t bytes) const;
  internals::Remote<internals::Signal> signal_place(int rank, std::size_t signal) const;
  internals::Rank& self() const noexcept { return comm_->team().rank(); }

  Ref<Comm> comm_;  // which the program may free before
  internals::Slab<std::byte> bytes_;
  internals::Slab<internals::Signal> signals_;
  std::vector<Part> parts_;
  internals::OperationGroup transfers_;
};

}  // namespace coracle::mpi
