// The forms of a collective: blocking, nonblocking, persistent. Each collective is a class whose constructor checks the
// arguments, and keeps what must live until it has ended; start() gives the task that does it. All forms are made of
// it.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "collectives/blocking.hpp"
#include "interfaces/mpi/core/collective_forms.hpp"
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
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
  /// Throws MpiError (comm), also for an inter-communicator.
  explicit Call(Comm* comm) : comm_(&checked_intra(comm)) {}
  Comm& comm() const noexcept { return *comm_; }
  Team& team() const { return comm_->team(); }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(comm_->size()); }
  std::uint32_t rank() const noexcept { return static_cast<std::uint32_t>(comm_->rank()); }
  /// For collectives/blocking.hpp.
  internals::RunTask runner() const noexcept {
    const auto run_on = [](const void* comm, Task<> task) { run(*static_cast<const Comm*>(comm), std::move(task)); };
    return {run_on, comm_.get()};
  }

 protected:
  struct Across {};
  /// Of any communicator that is whole.
  Call(Comm* comm, Across /*any*/) : comm_(&checked(comm)) { static_cast<void>(team()); }

 private:
  Ref<Comm> comm_;
};

/// Of a process whose own argument is wrong, which the others don't see: its part of the collective, and then `error`.
Task<> fail_after(Task<> part, MpiError error);

template <class Collective>
Task<> run_kept(std::shared_ptr<const Collective> call) {
  co_await call->start();
}
/// The same of a task that refers to what is kept.
template <class Plain>
Task<> run_kept(std::shared_ptr<const Plain> /*call*/, Task<> task) {
  co_await task;
}

/// Makes CollectiveForms of a class, whose constructor takes the parameters. Those that have a class Plain, of the same
/// parameters, go by that where it can: bool run(RunTask) const. Across: the same over an inter-communicator; void:
/// there is none.
template <class Collective, class Across = void>
struct FormsOf {
  template <class... Parameters>
  constexpr operator CollectiveForms<Parameters...>() const noexcept {
    return {block<Parameters...>, begin<Parameters...>, prepare<Parameters...>};
  }

 private:
  template <class Other, class OtherAcross>
  friend struct FormsOf;

  static constexpr bool has_across() noexcept { return !std::is_void_v<Across>; }
  /// The communicator is the last of them.
  static bool is_across(const Comm* comm) noexcept { return comm != nullptr && comm->is_inter(); }
  template <class First, class Second, class... Others>
  static bool is_across(const First&, const Second& second, const Others&... others) noexcept {
    return is_across(second, others...);
  }
  /// No coroutine stands between the call and the runtime's, where the collective itself needs none. Those that have a
  /// finish() do what they can without any.
  template <class... Parameters>
  static void block(Parameters... parameters) {
    if constexpr (has_across()) {
      if (is_across(parameters...)) [[unlikely]]
        return FormsOf<Across>::block(parameters...);
    }
    if constexpr (requires { typename Collective::Plain; }) {
      const typename Collective::Plain plain(parameters...);
      if (plain.run(plain.runner())) return World::get().progress().note_quick_call();
    }
    const Collective call(parameters...);
    if constexpr (requires { call.finish(); }) {
      call.finish();
      World::get().progress().note_quick_call();
    } else {
      run(call.comm(), call.start());
    }
  }
  template <class... Parameters>
  static void begin(Parameters... parameters, Request*& request) {
    if constexpr (has_across()) {
      if (is_across(parameters...)) return FormsOf<Across>::template begin<Parameters...>(parameters..., request);
    }
    if constexpr (requires { typename Collective::Plain; }) {
      auto plain = std::make_shared<const typename Collective::Plain>(parameters...);
      Comm& comm = plain->comm();
      std::optional<Task<>> task;
      if (plain->run(internals::RunTask::keeping(task)) && task) {
        request = start_task(comm, run_kept(std::move(plain), std::move(*task)));
        return;
      }
    }
    auto call = std::make_shared<const Collective>(parameters...);
    Comm& comm = call->comm();
    request = start_task(comm, run_kept(std::move(call)));
  }
  /// The arguments are checked once.
  template <class... Parameters>
  static void prepare(Parameters... parameters, Info* info, Request*& request) {
    if constexpr (has_across()) {
      if (is_across(parameters...))
        return FormsOf<Across>::template prepare<Parameters...>(parameters..., info, request);
    }
    auto call = std::make_shared<const Collective>(parameters...);
    Comm& comm = call->comm();
    request = make_persistent(comm, [call = std::move(call)] { return run_kept(call); });
  }
};

}  // namespace coracle::mpi::collectives
