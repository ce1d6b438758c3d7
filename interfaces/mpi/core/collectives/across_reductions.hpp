// Reductions over an inter-communicator: each side gets what the other one's values give. They go to one process of the
// side that gets it, which combines them in their order, and tells its own side.
#pragma once

#include <vector>

#include "interfaces/mpi/core/collectives/across.hpp"
#include "interfaces/mpi/core/collectives/reducing.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi::collectives {

/// What all of them do; `Count`s are of elements.
class ReducingAcross : public Reducing {
 public:
  ReducingAcross(Datatype* datatype, Op* op, Comm* comm) : Reducing(datatype, op, comm, Across()) {}

 protected:
  /// This process's values, to one on the other side.
  Task<> give(const void* sendbuf, Count count, int to, std::uint32_t tag) const;
  /// The values of all of the other side, combined into `result`.
  Task<> take(std::span<std::byte> result, std::uint32_t tag) const;
};

class ReduceAcross : public ReducingAcross {
 public:
  ReduceAcross(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root, Comm* comm);
  Task<> start() const;

 private:
  Task<> take_all(std::uint32_t tag) const;

  Part part_;
  int root_;
  const void* source_;
  void* target_;
  Count count_;
};

/// MPI_Allreduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block: each process of a side gets a part of the result, which
/// may be all of it.
class ReduceToPartsAcross : public ReducingAcross {
 public:
  ReduceToPartsAcross(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, Comm* comm);
  Task<> start() const;

 protected:
  struct Parts {};
  ReduceToPartsAcross(const void* sendbuf, void* recvbuf, Datatype* datatype, Op* op, Comm* comm, Parts)
      : ReducingAcross(datatype, op, comm), source_(sendbuf), target_(recvbuf) {}
  void check();

  /// Of each process of this side, one behind the other; none: each gets all.
  std::vector<Count> parts_;
  Count count_ = 0;

 private:
  std::span<const std::byte> part_of(std::span<const std::byte> result, std::uint32_t place) const;
  Task<> combine_and_tell(std::uint32_t tag, std::uint32_t local_tag) const;
  Task<> hear(std::uint32_t local_tag) const;
  Count mine() const noexcept { return parts_.empty() ? count_ : parts_[rank()]; }

  const void* source_;
  void* target_;
};

class ReduceScatterAcross : public ReduceToPartsAcross {
 public:
  ReduceScatterAcross(const void* sendbuf, void* recvbuf, Numbers recvcounts, Datatype* datatype, Op* op, Comm* comm);
  ReduceScatterAcross(const void* sendbuf, void* recvbuf, Count recvcount, Datatype* datatype, Op* op, Comm* comm);
};

}  // namespace coracle::mpi::collectives
