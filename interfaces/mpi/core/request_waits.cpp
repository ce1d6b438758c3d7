// MPI_Wait, MPI_Test and their forms for many.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "interfaces/mpi/core/call_note.hpp"
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

/// Of one that is done: its status, and its handle is null unless it is persistent.
Status take(Request*& request) noexcept {
  const Status status = request->end();
  if (!request->is_persistent()) free_handle(request);
  return status;
}

/// As take(), for functions of one request: an error is thrown.
Status take_or_throw(Request*& request) {
  Status status = request->end();
  if (status.error == 0) [[likely]] {
    if (!request->is_persistent()) free_handle(request);
    return status;
  }
  MpiError error(std::exchange(status.error, 0), request->error());
  if (!request->is_persistent()) free_handle(request);
  throw error;
}

void give(Status* status, const Status& value) noexcept {
  if (status == nullptr) return;
  const int error = status->error;
  *status = value;
  status->error = error;  // MPI-3.1, 3.2.5: only functions of many set it
}

void give(std::span<Status> statuses, std::size_t place, const Status& value) noexcept {
  if (!statuses.empty()) statuses[place] = value;
}

/// Of many requests: those that have failed.
class Failures {
 public:
  /// Of one that is done, before it is taken.
  void note(const Request& request, std::size_t place) {
    if (count_++ != 0) return;
    std::array<char, 256> room;
    internals::SignalText text(room.data(), room.size());
    request.add_to(text);
    first_ = fmt::format("requests[{}], {}: {}", place, text.view(), request.error());
  }
  void raise_if_any(std::size_t requests) const {
    if (count_ != 0)
      raise(ErrorClass::in_status, "{} of {} requests {} failed; the first is {}", count_, requests,
            count_ == 1 ? "has" : "have", first_);
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
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
  Failures failures;
  outcount = 0;
  for (std::size_t place = 0; place < requests.size(); ++place) {
    if (!counts(requests[place]) || !requests[place]->is_done()) continue;
    if (requests[place]->look().error != 0) failures.note(*requests[place], place);
    const Status status = take(requests[place]);
    indices[outcount] = static_cast<int>(place);
    give(statuses, static_cast<std::size_t>(outcount++), status);
  }
  failures.raise_if_any(requests.size());
}

/// All are done.
void take_all(std::span<Request*> requests, std::span<Status> statuses) {
  Failures failures;
  for (std::size_t place = 0; place < requests.size(); ++place) {
    Request*& request = requests[place];
    if (!counts(request)) {
      give(statuses, place, Status{});
      continue;
    }
    const Status status = request->look();
    if (status.error != 0) failures.note(*request, place);
    take(request);
    give(statuses, place, status);
  }
  failures.raise_if_any(requests.size());
}

}  // namespace

void wait(Request*& request, Status* status) {
  World& world = World::get();
  if (!counts(request)) return give(status, Status{});
  if (!request->is_done()) world.run_until<RequestsNote>([request] { return request->is_done(); }, one(request));
  give(status, take_or_throw(request));
}

void test(Request*& request, bool& flag, Status* status) {
  World& world = World::get();
  flag = true;
  if (!counts(request)) return give(status, Status{});
  if (!request->is_done()) world.poll();
  flag = request->is_done();
  if (flag) give(status, take_or_throw(request));
}

void waitall(std::span<Request*> requests, std::span<Status> statuses) {
  World& world = World::get();
  for (const Request* request : requests)
    if (counts(request) && !request->is_done())
      world.run_until<RequestsNote>([request] { return request->is_done(); }, requests);
  take_all(requests, statuses);
}

void testall(std::span<Request*> requests, bool& flag, std::span<Status> statuses) {
  World& world = World::get();
  const auto all_done = [requests] {
    return std::all_of(requests.begin(), requests.end(),
                       [](const Request* request) { return !counts(request) || request->is_done(); });
  };
  if (!all_done()) world.poll();
  flag = all_done();
  if (flag) take_all(requests, statuses);
}

void waitany(std::span<Request*> requests, int& index, Status* status) {
  World& world = World::get();
  index = kUndefined;
  if (!any_counts(requests)) return give(status, Status{});
  std::size_t place = first_done(requests);
  if (place == requests.size())
    world.run_until<RequestsNote>([&place, requests] { return (place = first_done(requests)) < requests.size(); },
                                  requests);
  index = static_cast<int>(place);
  give(status, take_or_throw(requests[place]));
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
  give(status, take_or_throw(requests[place]));
}

void waitsome(std::span<Request*> requests, Count& outcount, int* indices, std::span<Status> statuses) {
  World& world = World::get();
  outcount = kUndefined;
  if (!any_counts(requests)) return;
  if (first_done(requests) == requests.size())
    world.run_until<RequestsNote>([requests] { return first_done(requests) < requests.size(); }, requests);
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
  if (flag) give(status, request->look());
}

void request_free(Request*& request) {
  World& world = World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be freed");
  if (!counts(request)) return free_handle(request);
  if (request->is_done()) {
    request->end();
    return free_handle(request);
  }
  world.adopt(*std::exchange(request, nullptr));
}

void cancel(Request*& request) {
  World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be cancelled");
  if (counts(request)) request->cancel();
}

void start(Request*& request) {
  World::get();
  if (request == nullptr) raise(ErrorClass::request, "the request is MPI_REQUEST_NULL, which can't be started");
  request->start();
}

void startall(std::span<Request*> requests) {
  for (Request*& request : requests) start(request);
}

}  // namespace coracle::mpi
