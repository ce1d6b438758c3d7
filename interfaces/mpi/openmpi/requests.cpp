// What entry points of requests do themselves.
#include <algorithm>
#include <array>
#include <span>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/message_requests.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "interfaces/mpi/openmpi/entry.hpp"

namespace coracle::mpi::openmpi {
namespace {

enum class Found { none, done, wrong };

Found look_at(MPI_Request handle) noexcept {
  if (handle == null_handle<Request>()) return Found::none;
  if (handle == nullptr || handle->word.object == nullptr) return Found::wrong;
  const auto* request = static_cast<const Request*>(handle->word.object);
  return request->is_active() && request->is_done() ? Found::done : Found::none;
}

/// Null for the null handle.
Request* request_of(MPI_Request handle) noexcept {
  return static_cast<Request*>(handle->word.object);
}

/// Null of all others.
ReceiveRequest* receive_of(MPI_Request handle) noexcept {
  Request* const request = request_of(handle);
  const bool is_receive = request != nullptr && request->kind() == Request::Kind::receive;
  return is_receive ? static_cast<ReceiveRequest*>(request) : nullptr;
}

/// Whether all are null, or sends that have ended, or receives that go with their end.
bool are_plain(std::span<const MPI_Request> handles) noexcept {
  for (const MPI_Request handle : handles) {
    if (handle == null_handle<Request>()) continue;
    if (handle == nullptr || handle->word.object == nullptr) [[unlikely]]
      return false;
    const Request& request = *request_of(handle);
    if (request.kind() == Request::Kind::ended) continue;
    if (request.kind() != Request::Kind::receive || request.is_persistent()) return false;
  }
  return true;
}

/// As RequestsNote, which needs a list of requests: it is made when somebody asks.
class HandlesNote final : public CallNote {
 public:
  /// At most kInline.
  explicit HandlesNote(std::span<const MPI_Request> handles) noexcept : handles_(handles) {}
  void add_brief(internals::SignalText& text) const noexcept override {
    Requests requests;
    RequestsNote(collect(requests)).add_brief(text);
  }
  void add_lines(internals::SignalText& text) const noexcept override {
    Requests requests;
    RequestsNote(collect(requests)).add_lines(text);
  }

 private:
  using Requests = std::array<Request*, kInline>;
  std::span<Request* const> collect(Requests& requests) const noexcept {
    std::ranges::transform(handles_, requests.begin(), request_of);
    return std::span(requests).first(handles_.size());
  }
  const std::span<const MPI_Request> handles_;
};

void wait_for_receives(std::span<const MPI_Request> handles) {
  for (const MPI_Request handle : handles)
    if (const ReceiveRequest* const receive = receive_of(handle); receive != nullptr && !receive->has_ended())
      World::get().run_until<HandlesNote>([receive] { return receive->has_ended(); }, handles);
}

bool all_have_ended_well(std::span<const MPI_Request> handles) noexcept {
  return std::ranges::all_of(handles, [](MPI_Request handle) {
    const ReceiveRequest* const receive = receive_of(handle);
    return receive == nullptr || receive->has_ended_well();
  });
}

/// See wait_for_plain. `sets_error`: MPI_ERROR of each status, too.
[[gnu::always_inline]] inline bool wait_and_take(std::span<MPI_Request> handles, MPI_Status* statuses,
                                                 bool sets_error) {
  if (!are_plain(handles)) return false;
  wait_for_receives(handles);
  if (statuses != nullptr && !all_have_ended_well(handles)) return false;
  for (MPI_Request& handle : handles) {
    ReceiveRequest* const receive = receive_of(handle);
    if (receive != nullptr && !receive->has_ended_well()) [[unlikely]]
      return false;  // nobody asks for the statuses of those that have been taken
    if (statuses != nullptr) {
      store_status(receive != nullptr ? receive->status() : Status{}, statuses);
      if (sets_error) statuses->MPI_ERROR = kSuccess;
      ++statuses;
    }
    if (receive != nullptr) receive->end_and_release();
    handle = null_handle<Request>();
  }
  return true;
}

}  // namespace

bool wait_for_plain(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (count <= 0 || count > kInline || requests == nullptr) [[unlikely]]
    return false;
  return wait_and_take({requests, static_cast<std::size_t>(count)}, statuses, true);
}

bool wait_for_plain(MPI_Request* request, MPI_Status* status) {
  return request != nullptr && wait_and_take({request, 1}, status, false);
}

bool take_first_done(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (requests == nullptr || index == nullptr) return false;
  for (int place = 0; place < count; ++place) {
    const Found found = look_at(requests[place]);
    if (found == Found::none) continue;
    if (found == Found::wrong) return false;
    *index = place;  // also where the request has failed
    if (flag != nullptr) *flag = 1;
    HandleInOut<Request> taken(&requests[place], "requests");
    StatusOut to(status);
    mpi::wait(taken.object(), to.status());
    return true;
  }
  return false;
}

}  // namespace coracle::mpi::openmpi
