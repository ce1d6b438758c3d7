// MPI_Wait, MPI_Test and their forms for many.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace {

/// Whether there is something to wait for.
bool counts(const Request* request) noexcept {
  return request != nullptr && request->is_active();
}

std::span<Request* const> one(Request* const& request) noexcept {
  return {&request, 1};
}

/// The handle of one that has ended is null unless it is persistent.
void free_ended(Request*& request) noexcept {
  if (!request->is_persistent()) free_handle(request);
}

[[gnu::cold, noreturn]] void throw_taken(Request*& request, int error) {
  MpiError failure = request->failure(error);
  free_ended(request);
  throw failure;
}

void give(Status* status, const Status& value) noexcept {
  if (status == nullptr) return;
  const int error = status->error;
  *status = value;
  status->error = error;  // MPI-3.1, 3.2.5: only functions of many set it
}

/// Of functions of one request: the status is given, and an error is thrown.
void take_one(Request*& request, Status* status) {
  const Status ended = request->end();
  give(status, ended);
  if (ended.error != 0) [[unlikely]]
    throw_taken(request, ended.error);
  free_ended(request);
}

void give(std::span<Status> statuses, std::size_t place, const Status& value) noexcept {
  if (!statuses.empty()) statuses[place] = value;
}

/// Of the requests of one call, those that have failed.
class Failures {
 public:
  explicit Failures(std::span<Request*> requests) noexcept : requests_(requests) {}
  /// Takes a request that is done, and notes its error.
  Status take_noting(std::size_t place) {
    Request*& request = requests_[place];
    const Status status = request->end();
    if (status.error != 0 && count_++ == 0) [[unlikely]]
      note_first(*request, place, request->failure(status.error));
    free_ended(request);
    return status;
  }
  /// The error handler of the first one's communicator is told.
  void raise_in_status() const {
    if (count_ == 0) return;
    throw MpiError(ErrorClass::in_status,
                   fmt::format("{} of {} requests {} failed; the first is {}", count_, requests_.size(),
                               count_ == 1 ? "has" : "have", first_),
                   origin_);
  }

 private:
  void note_first(const Request& request, std::size_t place, const MpiError& error) {
    std::array<char, 256> room;
    internals::SignalText text(room.data(), room.size());
    request.add_to(text);
    first_ = fmt::format("requests[{}], {}: {}", place, text.view(), error.what());
    origin_ = error.origin();
  }

  const std::span<Request*> requests_;
  std::size_t count_ = 0;
  std::string first_;
  Ref<Object> origin_;
};

/// The first that is done; `requests.size()` where none is.
std::size_t first_done(std::span<Request* const> requests) noexcept {
  std::size_t place = 0;
  while (place < requests.size() && !(counts(requests[place]) && requests[place]->is_done())) ++place;
  return place;
}

bool any_counts(std::span<Request* const> requests) noexcept {
  return std::any_of(requests.begin(), requests.end(), counts);
}

/// Takes all that are done; `statuses` in a row.
void take_done(std::span<Request*> requests, Count& outcount, int* indices, std::span<Status> statuses) {
  Failures failures(requests);
  outcount = 0;
  for (std::size_t place = 0; place < requests.size(); ++place) {
    if (!counts(requests[place]) || !requests[place]->is_done()) continue;
    indices[outcount] = static_cast<int>(place);
    give(statuses, static_cast<std::size_t>(outcount++), failures.take_noting(place));
  }
  failures.raise_in_status();
}

/// All are done.
void take_all(std::span<Request*> requests, std::span<Status> statuses) {
  Failures failures(requests);
  for (std::size_t place = 0; place < requests.size(); ++place)
    give(statuses, place, counts(requests[place]) ? failures.take_noting(place) : Status{});
  failures.raise_in_status();
}

}  // namespace

void wait(Request*& request, Status* status) {
  World& world = World::get();
  if (!counts(request)) return give(status, Status{});
  if (!request->is_done()) world.run_until<RequestsNote>([request] { return request->is_done(); }, one(request));
  take_one(request, status);
}

void test(Request*& request, bool& flag, Status* status) {
  World& world = World::get();
  flag = true;
  if (!counts(request)) return give(status, Status{});
  if (!request->is_done()) world.poll();
  flag = request->is_done();
  if (flag) take_one(request, status);
}

void waitall(std::span<Request*> requests, std::span<Status> statuses) {
  World& world = World::get();
  for (const Request* request : requests)
    if (counts(request) && !request->is_done())
      world.run_until<RequestsNote>([request] { return request->is_done(); }, requests);
  take_all(requests, statuses);
}

/// Goes on as long as there is something to do that finishes the next request: where a program tests thousands again
/// and again, all would be looked through from the start for each few that finish.
void testall(std::span<Request*> requests, bool& flag, std::span<Status> statuses) {
  World& world = World::get();
  const auto is_done = [](const Request* request) { return !counts(request) || request->is_done(); };
  flag = true;
  for (const Request* request : requests) {
    if (!is_done(request) && world.poll()) world.progress().settle([&] { return is_done(request); });
    flag = is_done(request);
    if (!flag) return;
  }
  take_all(requests, statuses);
}

void waitany(std::span<Request*> requests, int& index, Status* status) {
  World& world = World::get();
  index = kUndefined;
  if (!any_counts(requests)) return give(status, Status{});
  std::size_t place = first_done(requests);
  if (place == requests.size())
    world.progress().run_until_end<RequestsNote>(
        [&place, requests] { return (place = first_done(requests)) < requests.size(); }, requests);
  index = static_cast<int>(place);
  take_one(requests[place], status);
}

void testany(std::span<Request*> requests, int& index, bool& flag, Status* status) {
  World& world = World::get();
  index = kUndefined;
  flag = true;
  if (!any_counts(requests)) return give(status, Status{});
  std::size_t place = first_done(requests);
  if (place == requests.size()) {
    world.poll();
    place = first_done(requests);
  }
  flag = place < requests.size();
  if (!flag) return;
  index = static_cast<int>(place);
  take_one(requests[place], status);
}

void waitsome(std::span<Request*> requests, Count& outcount, int* indices, std::span<Status> statuses) {
  World& world = World::get();
  outcount = kUndefined;
  if (!any_counts(requests)) return;
  if (first_done(requests) == requests.size())
    world.progress().run_until_end<RequestsNote>([requests] { return first_done(requests) < requests.size(); },
                                                 requests);
  take_done(requests, outcount, indices, statuses);
}

void testsome(std::span<Request*> requests, Count& outcount, int* indices, std::span<Status> statuses) {
  World& world = World::get();
  outcount = kUndefined;
  if (!any_counts(requests)) return;
  if (first_done(requests) == requests.size()) world.poll();
  take_done(requests, outcount, indices, statuses);
}

void request_get_status(Request* request, bool& flag, Status* status) {
  World& world = World::get();
  flag = true;
  if (!counts(request)) return give(status, Status{});
  if (!request->is_done()) world.poll();
  flag = request->is_done();
  if (!flag) return;
  const Status ended = request->look();
  give(status, ended);
  if (ended.error != 0) throw request->failure(ended.error);
}

void request_free(Request*& request) {
  World& world = World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be freed");
  if (!counts(request)) return free_handle(request);
  if (request->is_done()) {
    request->let_go();
    return free_handle(request);
  }
  world.adopt(*std::exchange(request, nullptr));
}

void cancel(Request*& request) {
  World& world = World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be cancelled");
  if (!counts(request)) return;
  call_for(request->comm(), [request] { request->cancel(); });
  // So that MPI_Request_get_status tells at once of what lies within reach: programs receive the message otherwise.
  world.progress().settle([request] { return request->is_done(); });
}

void start(Request*& request) {
  World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be started");
  call_for(request->comm(), [request] { request->start(); });
}

void startall(std::span<Request*> requests) {
  for (Request*& request : requests) start(request);
}

}  // namespace coracle::mpi
