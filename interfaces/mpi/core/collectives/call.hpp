// The forms of a collective: blocking, nonblocking, persistent. Each collective is a class whose constructor checks the
// arguments, and keeps what must live until it has ended; start() gives the task that does it. All forms are made of
// it.
#pragma once

#include <memory>
#include <source_location>
#include <utility>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::mpi::collectives {

using internals::Task;
using internals::Team;

/// The runtime names a call by its place in the program, which is not known here.
inline constexpr std::source_location kNowhere{};

/// What all have in common: a communicator, which lives until the collective has ended.
class Call {
 public:
  explicit Call(Comm* comm) : comm_(&checked(comm)) {}
  Comm& comm() const noexcept { return *comm_; }
  Team& team() const noexcept { return comm_->team(); }

 protected:
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(comm_->size()); }
  std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(comm_->rank()); }

 private:
  Ref<Comm> comm_;
};

/// Blocking: no coroutine stands between the call and the runtime's, where the collective itself needs none.
template <class Collective>
void block(const Collective& call) {
  run(call.comm(), call.start());
}

template <class Collective>
Task<> run_kept(std::shared_ptr<const Collective> call) {
  co_await call->start();
}

/// Nonblocking. `arguments`: the collective's.
template <class Collective, class... Arguments>
void begin(Request*& request, const Arguments&... arguments) {
  auto call = std::make_shared<const Collective>(arguments...);
  Comm& comm = call->comm();
  request = start_task(comm, run_kept(std::move(call)));
}

/// Persistent: the arguments are checked once.
template <class Collective, class... Arguments>
void prepare(Request*& request, const Arguments&... arguments) {
  auto call = std::make_shared<const Collective>(arguments...);
  Comm& comm = call->comm();
  request = make_persistent(comm, [call = std::move(call)] { return run_kept(call); });
}

}  // namespace coracle::mpi::collectives
