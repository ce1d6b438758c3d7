// MPI_Reduce, MPI_Allreduce and their forms.
#include "collectives/blocking.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/reductions.hpp"
#include "interfaces/mpi/core/collectives/across_reductions.hpp"
#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/reducing.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace collectives {
namespace {

using internals::Algorithm;
using internals::Blocks;

/// Where values and result lie.
struct ReducedMemory {
  const void* source;
  void* target;  ///< Of a reduce not at its root: null.
  Count count;
};

Task<> reduce_elements(const Reducing& call, ReducedMemory memory, std::uint32_t root) {
  const internals::Preparation preparation(call.team(), "reduce");
  Team& team = call.team();
  const bool takes = team.index() == root;
  const ElementsToSend values(call, memory.source, memory.count);
  const ElementsToReceive result(call, memory.target, takes ? memory.count : 0);
  const std::size_t bytes = values.span().size();
  if (!call.too_large()) {
    co_await reduce_bytes(team, values.span(), result.span(), call.reduction(), root, Algorithm::automatic, kNowhere);
  } else {
    const Scratch all(takes ? bytes * team.size() : 0);
    const Blocks blocks(team.size(), bytes);
    co_await gather_bytes(team, values.span(), all.span(), blocks, true, root, Algorithm::automatic, kNowhere);
    if (takes) combine_in_order(call.reduction(), all.span(), team.size(), result.span());
  }
  if (takes) result.store();
}

class Reduce : public Reducing {
 public:
  Reduce(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, int root, Comm* comm)
      : Reducing(datatype, op, comm), root_(checked_root(*comm, root)), memory_{sendbuf, nullptr, count} {
    if (rank() == root_) {
      refuse_in_place(recvbuf, "recvbuf");
      check_values(recvbuf, count, "recvbuf");
      memory_.target = recvbuf;
      if (is_in_place(sendbuf)) memory_.source = recvbuf;
    }
    refuse_in_place(memory_.source, "sendbuf of a process that is not the root");
    check_values(memory_.source, count, "sendbuf");
  }
  Task<> start() const {
    if (!is_direct()) return reduce_elements(*this, memory_, root_);
    return reduce_bytes(team(), bytes_at(memory_.source, memory_.count), result(), reduction(), root_,
                        Algorithm::automatic, kNowhere);
  }
  void finish() const {
    if (!is_direct()) return run(comm(), start());
    internals::reduce_blocking(team(), bytes_at(memory_.source, memory_.count), result(), reduction(), root_, kNowhere,
                               runner());
  }

 private:
  std::span<std::byte> result() const noexcept { return bytes_at(memory_.target, rank() == root_ ? memory_.count : 0); }

  std::uint32_t root_;
  ReducedMemory memory_;
};

Task<> all_reduce_elements(const Reducing& call, ReducedMemory memory) {
  Team& team = call.team();
  const internals::Preparation preparation(team, "all_reduce");
  const ElementsToSend values(call, memory.source, memory.count);
  const ElementsToReceive result(call, memory.target, memory.count);
  if (!call.too_large()) {
    co_await all_reduce_bytes(team, values.span(), result.span(), call.reduction(), Algorithm::automatic, kNowhere);
  } else {
    const Scratch all(values.span().size() * team.size());
    const Blocks blocks(team.size(), values.span().size());
    co_await gather_all_bytes(team, values.span(), all.span(), blocks, Algorithm::automatic, kNowhere);
    combine_in_order(call.reduction(), all.span(), team.size(), result.span());
  }
  result.store();
}

class AllReduce : public Reducing {
 public:
  AllReduce(const void* sendbuf, void* recvbuf, Count count, Datatype* datatype, Op* op, Comm* comm)
      : Reducing(datatype, op, comm), memory_{is_in_place(sendbuf) ? recvbuf : sendbuf, recvbuf, count} {
    refuse_in_place(recvbuf, "recvbuf");
    check_values(memory_.source, count, "sendbuf");
    check_values(recvbuf, count, "recvbuf");
  }
  Task<> start() const {
    if (!is_direct()) return all_reduce_elements(*this, memory_);
    return all_reduce_bytes(team(), bytes_at(memory_.source, memory_.count), bytes_at(memory_.target, memory_.count),
                            reduction(), Algorithm::automatic, kNowhere);
  }
  void finish() const {
    if (!is_direct()) return run(comm(), start());
    internals::all_reduce_blocking(team(), bytes_at(memory_.source, memory_.count),
                                   bytes_at(memory_.target, memory_.count), reduction(), kNowhere, runner());
  }

 private:
  ReducedMemory memory_;
};

}  // namespace
}  // namespace collectives

constinit decltype(reduce) reduce = collectives::FormsOf<collectives::Reduce, collectives::ReduceAcross>();
constinit decltype(allreduce) allreduce =
    collectives::FormsOf<collectives::AllReduce, collectives::ReduceToPartsAcross>();

}  // namespace coracle::mpi
