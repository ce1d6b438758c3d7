// What collectives over an inter-communicator have in common: messages to and from the other side, none of which waits
// for another collective, so that any number may be under way.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core/collectives/values.hpp"

namespace coracle::mpi::collectives {

/// What a process does in a collective with a root: MPI_ROOT, MPI_PROC_NULL, or the root's rank on the other side.
enum class Part : std::uint8_t { root, nothing, other };
/// Throws MpiError (root).
Part part_of(const Comm& comm, int root);

class AcrossCall : public Call {
 public:
  explicit AcrossCall(Comm* comm) : Call(comm, Across()) {}
  /// Takes its tag: in the order in which the members call their collectives.
  Task<> start() const;

 protected:
  std::uint32_t remote() const noexcept { return static_cast<std::uint32_t>(comm().peers()); }
  void send(int to, const MessageSource& values) { sent_.emplace_back(to, values); }
  void receive(int from, const MessageTarget& values) { received_.emplace_back(from, values); }

 private:
  std::vector<std::pair<int, MessageSource>> sent_;
  std::vector<std::pair<int, MessageTarget>> received_;
};

/// The barrier of the team of both sides: nobody leaves before all of the other side have come.
class BarrierAcross : public Call {
 public:
  explicit BarrierAcross(Comm* comm) : Call(comm, Across()) {}
  Task<> start() const { return team().barrier(kNowhere); }
};

}  // namespace coracle::mpi::collectives
