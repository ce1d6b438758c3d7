// Requests of tasks: collectives, and communicators in the making.
#include <functional>
#include <optional>
#include <utility>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/program_call.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"

namespace coracle::mpi {
namespace {

/// A collective, by its task.
class TaskRequest final : public Request {
 public:
  TaskRequest(Comm& comm, internals::Task<> task) : Request(&comm, false) { run(std::move(task)); }
  TaskRequest(Comm& comm, std::function<internals::Task<>()> make) : Request(&comm, true), make_(std::move(make)) {}

  bool is_done() const noexcept override { return completion_ == nullptr || completion_->done(); }
  Status look() noexcept override {
    Status status;
    if (outcome_) return *outcome_;
    try {
      if (task_) task_->await_resume();
    } catch (...) {
      note_error(status);
    }
    outcome_ = status;
    return status;
  }
  void add_to(internals::SignalText& text) const noexcept override {
    text.add("{} on ", function_ != nullptr ? function_ : "a collective");
    comm()->add_label(text);
  }
  void cancel() override { raise(ErrorClass::request, "a collective can't be cancelled (MPI-3.1, 5.12)"); }

 private:
  void begin() override { run(make_()); }
  void settle() noexcept override {
    if (completion_ != nullptr) World::get().progress().give_completion(*std::exchange(completion_, nullptr));
    task_.reset();
  }
  void run(internals::Task<> task) {
    outcome_.reset();
    task_.emplace(std::move(task));
    if (task_->await_ready()) return;
    completion_ = &World::get().progress().begin(*task_);
  }

  const char* const function_ = program_call.function;  // that has made it: a literal
  std::function<internals::Task<>()> make_;
  std::optional<internals::Task<>> task_;
  std::optional<Status> outcome_;
  internals::Completion* completion_ = nullptr;
};

}  // namespace

Request* start_task(Comm& comm, internals::Task<> task) {
  return new TaskRequest(comm, std::move(task));
}

Request* make_persistent(Comm& comm, std::function<internals::Task<>()> make) {
  return new TaskRequest(comm, std::move(make));
}

void run(const Comm& comm, internals::Task<> task) {
  World::get().wait<CollectiveNote>(task, comm);
}

}  // namespace coracle::mpi
