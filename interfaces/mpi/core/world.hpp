// World: what MPI_Init makes: this process as a rank, its loop, and the communicators that are there from the start.
#pragma once

#include <cstdint>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::mpi {

class World {
 public:
  /// Between MPI_Init and MPI_Finalize. Throws MpiError (other) outside, which says so.
  static World& get();
  static bool is_there() noexcept;

  internals::Rank& rank() noexcept { return *rank_; }
  Comm& comm_world() noexcept { return *comm_world_; }
  Comm& comm_self() noexcept { return *comm_self_; }
  /// Turns the loop, and sleeps between, until `done()`.
  template <class Predicate>
  void run_until(Predicate done) {
    rank_->loop().run_until(done);
  }
  /// Lets the loop do what is there, once.
  void poll() { rank_->loop().turn(); }

 private:
  internals::Rank* rank_ = nullptr;
  Comm* comm_world_ = nullptr;
  Comm* comm_self_ = nullptr;
};

}  // namespace coracle::mpi
