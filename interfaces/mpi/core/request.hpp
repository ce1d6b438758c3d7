// Request: what is under way; without a coroutine or an allocation of its own, but for collectives.
#pragma once

#include <cstdint>
#include <functional>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "interfaces/mpi/core/status.hpp"
#include "runtime/core/task.hpp"

namespace coracle::mpi {

/// The end of a request is noted by the loop; whoever waits for it turns the loop until then.
class Request : public Object {
 public:
  /// Whether it has ended; of an inactive persistent one true.
  bool is_done() const noexcept { return done_; }
  bool is_active() const noexcept { return active_; }
  bool is_persistent() const noexcept { return persistent_; }
  const Status& status() const noexcept { return status_; }
  /// Of a persistent one. Throws MpiError (request) for another, or one that is active.
  virtual void start();
  /// Asks it to end early.
  virtual void cancel();
  // ... more in request.cpp's own headers

 protected:
  Status status_;
  bool done_ = false;
  bool active_ = true;
  bool persistent_ = false;
};

/// Starts what a nonblocking collective does, up to its first suspension; the request owns it. `keep`: what must live
/// until it has ended (datatypes, scratch memory) belongs into the task's parameters.
Request* start_task(Comm& comm, internals::Task<> task);
/// Of a persistent collective: `make` gives the task of each start; inactive at first.
Request* make_persistent(Comm& comm, std::function<internals::Task<>()> make);
/// Runs `task` to its end, turning the loop; throws its error as MpiError.
void run(internals::Task<> task);

}  // namespace coracle::mpi
