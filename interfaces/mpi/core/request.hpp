// Request: what is under way. Messages need neither a coroutine nor, once there have been as many, an allocation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "interfaces/mpi/core/status.hpp"
#include "runtime/core/task.hpp"

namespace coracle::mpi {

/// Its end is noted by the loop; whoever waits for it turns the loop until then, and calls end().
class Request : public Object {
 public:
  enum class Kind : std::uint8_t {
    ended,    ///< One that many handles share: it has ended, and stays as it is.
    receive,  ///< ReceiveRequest.
    other,
  };
  Kind kind() const noexcept { return kind_; }
  /// False of a persistent one between its uses.
  bool is_active() const noexcept { return active_; }
  bool is_persistent() const noexcept { return persistent_; }
  /// Whether what is under way has ended.
  virtual bool is_done() const noexcept = 0;
  /// Of one that is done: the status, with the error code of this request. It is inactive from now on. Throws nothing:
  /// what went wrong is in the status, and its text is error().
  Status end() noexcept;
  /// Of one that is done and whose handle the program has freed: nobody asks for its status.
  virtual void let_go() noexcept { end(); }
  /// As end(), but it stays as it is (MPI_Request_get_status). The text of an error is kept for failure().
  virtual Status look() noexcept = 0;
  /// An error of this request, for the error handler of its communicator: `code` is its status's.
  MpiError failure(int code) const { return {code, error_ ? *error_ : std::string(), Ref<Object>(comm_.get())}; }
  /// Of a persistent one that is inactive.
  void start();
  /// Of one that the program has freed: whether MPI_Finalize waits for its end, since others may do so. What is not
  /// waited for is withdrawn then.
  virtual bool is_awaited_at_end() const noexcept { return true; }
  /// Asks it to end early.
  virtual void cancel() = 0;
  /// What it is: "a receive from rank 1, tag 7, on MPI_COMM_WORLD". For signal handlers, too.
  virtual void add_to(internals::SignalText& text) const noexcept = 0;
  /// Null for one that belongs to none.
  Comm* comm() const noexcept { return comm_.get(); }

 protected:
  Request(Comm* comm, bool persistent, Kind kind = Kind::other) noexcept
      : comm_(comm), active_(!persistent), persistent_(persistent), kind_(kind) {}
  /// Kind::ended.
  Request() noexcept : active_(true), persistent_(false), kind_(Kind::ended) {}
  virtual void begin() = 0;
  /// It has ended and its status has been taken.
  virtual void settle() noexcept {}
  void note_error(Status& status) noexcept;  // in a catch block
  /// In a catch block: one that has been asked to end early, and has ended so, is cancelled; else as note_error().
  void note_end_of(bool cancelling, Status& status) noexcept;

 private:
  const Ref<Comm> comm_;  // it may be freed while the request is under way
  bool active_;
  const bool persistent_;
  const Kind kind_;
  std::unique_ptr<std::string> error_;
};

/// Starts what a nonblocking collective does, up to its first suspension; the request owns it. What must live until it
/// has ended (datatypes, scratch memory) belongs into the task's parameters.
Request* start_task(Comm& comm, internals::Task<> task);
/// Of a persistent collective: `make` gives the task of each start; inactive at first.
Request* make_persistent(Comm& comm, std::function<internals::Task<>()> make);
/// Runs `task`, a collective on `comm`, to its end, turning the loop; throws its error.
void run(const Comm& comm, internals::Task<> task);

}  // namespace coracle::mpi
