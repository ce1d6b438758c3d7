// World: what MPI_Init makes: this process as a rank, its loop, and the communicators that are there from the start.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "runtime/core/completion.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
class AttachedRank;
}

namespace coracle::mpi {

class BufferedSends;
class Request;

/// One, from MPI_Init to MPI_Finalize. Only the thread that has made it may call (MPI_THREAD_FUNNELED).
class World {
 public:
  /// Throws MpiError (other) before MPI_Init and after MPI_Finalize, which says so.
  static World& get() {
    if (world_ == nullptr) [[unlikely]]
      refuse();
    return *world_;
  }
  static bool is_there() noexcept { return world_ != nullptr; }

  internals::Rank& rank() const noexcept { return rank_; }
  Comm& comm_world() const noexcept { return *comm_world_; }
  Comm& comm_self() const noexcept { return *comm_self_; }
  BufferedSends& buffered_sends() noexcept { return *buffered_sends_; }
  ThreadLevel provided() const noexcept { return provided_; }

  /// Turns the loop, and sleeps between, until `done()`.
  template <class Predicate>
  void run_until(Predicate done) {
    rank_.loop().run_until(done);
  }
  /// Lets the loop do what is there, once: for functions that look and don't wait. Where cores are shared a process
  /// that looks again and again gives its core away.
  void poll();
  /// Awaits an operation or a task at the place of the call; gives its value or throws its error.
  template <class Awaitable>
  decltype(auto) wait(Awaitable& operation) {
    if (!operation.await_ready()) suspend(operation);
    return operation.await_resume();
  }

  // Completions are made when as many as that are needed at once, and kept.
  internals::Completion& take_completion();
  void give_completion(internals::Completion& completion) noexcept;
  /// Of a request that the program has freed while it is under way: it goes when it has ended.
  void adopt(Request& request) { orphans_.push_back(&request); }
  void bury_orphans();

  /// See world_init, world_finalize, world_abort.
  static void init(ThreadLevel wanted);
  static void finalize();
  static bool was_there() noexcept { return was_there_; }

 private:
  explicit World(ThreadLevel provided);
  ~World();
  [[noreturn]] static void refuse();
  void make_comms();
  void drain();
  template <class Awaitable>
  void suspend(Awaitable& operation) {
    internals::Completion& completion = take_completion();
    completion.suspend(operation);
    run_until([&completion] { return completion.done(); });
    give_completion(completion);
  }

  static World* world_;
  static bool was_there_;
  ThreadLevel provided_;
  std::unique_ptr<internals::AttachedRank> attached_;
  internals::Rank& rank_;
  Comm* comm_world_ = nullptr;
  Comm* comm_self_ = nullptr;
  std::vector<std::unique_ptr<internals::Completion>> completions_;
  std::vector<internals::Completion*> free_completions_;
  std::vector<Request*> orphans_;
  std::unique_ptr<BufferedSends> buffered_sends_;
  std::uint32_t vain_polls_ = 0;
};

/// The exception in flight (of the runtime, the core or the C++ library) as the core says it. Only in a catch block.
MpiError current_error() noexcept;

}  // namespace coracle::mpi
