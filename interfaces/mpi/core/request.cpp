// What all requests have in common, and those of tasks.
#include "interfaces/mpi/core/request.hpp"

#include <optional>
#include <utility>

#include "interfaces/mpi/core/world.hpp"

namespace coracle::mpi {

Status Request::end() noexcept {
  Status status;
  if (active_) status = look();
  settle();
  active_ = false;
  return status;
}

void Request::start() {
  if (!persistent_) raise(ErrorClass::request, "the request is not a persistent one, which alone can be started");
  if (active_) raise(ErrorClass::request, "the request is active already: wait for it before it is started again");
  error_.clear();
  begin();
  active_ = true;
}

void Request::note_error(Status& status) noexcept {
  const MpiError error = current_error();
  status.error = error.code();
  try {
    error_ = error.what();
  } catch (...) {
    error_.clear();  // the class says enough
  }
}

namespace {

/// A collective, by its task.
class TaskRequest final : public Request {
 public:
  TaskRequest(Comm& comm, internals::Task<> task) : Request(false), comm_(&comm) { run(std::move(task)); }
  TaskRequest(Comm& comm, std::function<internals::Task<>()> make)
      : Request(true), comm_(&comm), make_(std::move(make)) {}

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
  void cancel() override { raise(ErrorClass::request, "a collective can't be cancelled (MPI-3.1, 5.12)"); }

 private:
  void begin() override { run(make_()); }
  void settle() noexcept override {
    if (completion_ != nullptr) World::get().give_completion(*std::exchange(completion_, nullptr));
    task_.reset();
  }
  void run(internals::Task<> task) {
    outcome_.reset();
    task_.emplace(std::move(task));
    if (task_->await_ready()) return;
    completion_ = &World::get().take_completion();
    completion_->suspend(*task_);
  }

  Ref<Comm> comm_;
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

void run(internals::Task<> task) {
  World::get().wait(task);
}

}  // namespace coracle::mpi
