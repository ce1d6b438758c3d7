// World: what MPI_Init makes: this process as a rank, its loop, and the communicators that are there from the start.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "interfaces/mpi/core/call_reporter.hpp"
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/progress.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
class AttachedRank;
}

namespace coracle::mpi {

class BufferedSends;
class Request;

/// One, from MPI_Init to MPI_Finalize. Where less than MPI_THREAD_SERIALIZED is provided, the thread that has made it
/// calls without a lock until another one comes (Callers); else those that hold its lock.
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
  /// Whether this is the thread that has called MPI_Init.
  static bool is_main_thread() noexcept;

  Progress& progress() noexcept { return progress_; }
  /// Lets the loop do what is there, once, and ends what nobody waits for. False where there was nothing.
  bool poll() {
    bury_orphans();
    return progress_.poll();
  }
  // For short:
  template <class Note, class Predicate, class... Arguments>
  void run_until(Predicate done, const Arguments&... arguments) {
    progress_.run_until<Note>(done, arguments...);
  }
  template <class Note, class Awaitable, class... Arguments>
  decltype(auto) wait(Awaitable& operation, const Arguments&... arguments) {
    return progress_.wait<Note>(operation, arguments...);
  }

  /// Of a request that the program has freed while it is under way: it goes when it has ended.
  void adopt(Request& request);
  void bury_orphans();

  /// See world_init, world_finalize, world_abort.
  static void init(ThreadLevel wanted);
  static void finalize();
  static bool was_there() noexcept { return was_there_; }

 private:
  friend class ThreadCall;

  World(ThreadLevel provided, CallLock* lock);
  ~World();
  [[noreturn]] static void refuse();
  void make_comms();
  void drain();
  void withdraw_receives();
  [[noreturn]] void refuse_to_end(std::size_t left) const;

  [[noreturn]] void refuse_thread() const;

  static World* world_;
  static bool was_there_;
  ThreadLevel provided_;
  CallReporter reporter_;
  std::unique_ptr<internals::AttachedRank> attached_;
  internals::Rank& rank_;
  Progress progress_;
  Comm* comm_world_ = nullptr;
  Comm* comm_self_ = nullptr;
  std::vector<Request*> orphans_;
  std::size_t orphans_left_ = 0;  // when they were looked through
  bool is_burying_ = false;
  std::unique_ptr<BufferedSends> buffered_sends_;
};

/// While a function of MPI runs. They nest.
class ThreadCall {
 public:
  /// Throws MpiError (other) where this thread may not call. `refuse` throws where there is no world.
  explicit ThreadCall(void (*refuse)() = World::refuse) : others_(Callers::begin_own()) {
    if (others_ == Callers::kElsewhere) [[unlikely]]
      enter(refuse);
  }
  ~ThreadCall() {
    CallLock* const lock = others_ != Callers::kElsewhere ? Callers::end_own(others_) : lock_;
    if (lock != nullptr) [[unlikely]]
      leave(*lock);
  }
  ThreadCall(const ThreadCall&) = delete;
  ThreadCall& operator=(const ThreadCall&) = delete;

 protected:
  /// Of a function that any thread may call, without a lock where there is none. `refuse`: null where there need be no
  /// world.
  struct AnyThread {};
  ThreadCall(AnyThread, void (*refuse)()) : others_(Callers::begin_own()) {
    if (others_ == Callers::kElsewhere) [[unlikely]]
      enter_anywhere(refuse);
  }
  /// Whether this thread takes no lock, and is not the own one.
  bool is_elsewhere() const noexcept { return others_ == Callers::kElsewhere && lock_ == nullptr; }

 private:
  void enter(void (*refuse)());
  void enter_anywhere(void (*refuse)());
  static void leave(CallLock& lock) noexcept;

  std::uint32_t others_;  // functions of the own thread, beside this one
  CallLock* lock_ = nullptr;
};

/// While a function runs that may be called at any time, by any thread.
class EarlyCall : ThreadCall {
 public:
  EarlyCall() : ThreadCall(AnyThread{}, nullptr) {}
};

/// MPI_Init_thread: makes the world, with the level that is wanted. Throws MpiError (other) where there is,
/// or was, one already.
void world_init(int thread_level, int& provided);
/// The end of MPI_Init_thread, when what depends on the ABI has been made, too: other threads may come.
void world_begun() noexcept;
/// MPI_Finalize.
void world_finalize();
/// MPI_Abort: ends the job with `code` as its status, and tells of `what`. It works outside MPI_Init and MPI_Finalize.
[[noreturn]] void world_abort(const char* what, int code) noexcept;
/// Whether MPI_Init, or MPI_Finalize, has been called.
bool is_initialized() noexcept;
bool is_finalized() noexcept;

}  // namespace coracle::mpi
