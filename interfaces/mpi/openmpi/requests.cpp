// What entry points of requests do themselves.
#include <algorithm>
#include <array>
#include <span>

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

ReceiveRequest& as_receive(Request& request) noexcept {
  return static_cast<ReceiveRequest&>(request);
}

/// A hang report tells of all of them.
void wait_for_all(std::span<const MPI_Request> handles) {
  std::array<Request*, kInline> requests;
  for (std::size_t place = 0; place < handles.size(); ++place)
    requests[place] = static_cast<Request*>(handles[place]->word.object);
  wait_for_ends(std::span(requests).first(handles.size()));
}

/// Of MPI_Waitall: the receives among its requests, where all others are null or sends that have ended.
class PlainRequests {
 public:
  /// False where there are others, or what is no request.
  bool collect(std::span<const MPI_Request> handles) noexcept {
    for (const MPI_Request handle : handles) {
      if (handle == null_handle<Request>()) continue;
      if (handle == nullptr || handle->word.object == nullptr) [[unlikely]]
        return false;
      auto& request = static_cast<Request&>(*handle->word.object);
      if (request.kind() == Request::Kind::ended) continue;
      if (request.kind() != Request::Kind::receive || request.is_persistent()) return false;
      receives_[count_++] = &request;
    }
    return true;
  }
  /// `handles`: as above. False where one has failed.
  bool wait(std::span<const MPI_Request> handles) {
    const std::span receives(receives_.data(), count_);
    if (!std::ranges::all_of(receives, [](Request* request) { return as_receive(*request).is_done(); }))
      wait_for_all(handles);
    return std::ranges::all_of(receives, [](Request* request) { return as_receive(*request).has_ended_well(); });
  }
  void end() noexcept {
    for (std::size_t place = 0; place < count_; ++place)
      if (receives_[place]->handle()->object != nullptr) [[likely]]  // else the program has given it twice
        as_receive(*receives_[place]).end_and_release();
  }

 private:
  std::array<Request*, kInline> receives_;
  std::size_t count_ = 0;
};

void store_end(MPI_Request handle, MPI_Status* status) noexcept {
  const bool is_receive =
      handle != null_handle<Request>() && static_cast<Request*>(handle->word.object)->kind() == Request::Kind::receive;
  store_status(is_receive ? static_cast<ReceiveRequest*>(handle->word.object)->status() : Status{}, status);
  status->MPI_ERROR = kSuccess;
}

}  // namespace

bool wait_for_plain(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (count <= 0 || count > kInline || requests == nullptr) [[unlikely]]
    return false;
  const std::span handles(requests, static_cast<std::size_t>(count));
  PlainRequests plain;
  if (!plain.collect(handles) || !plain.wait(handles)) return false;
  for (MPI_Request& handle : handles) {
    if (statuses != nullptr) store_end(handle, statuses++);
    handle = null_handle<Request>();
  }
  plain.end();
  return true;
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
