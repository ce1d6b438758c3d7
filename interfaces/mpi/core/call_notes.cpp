// The words of hang reports for calls.
#include "interfaces/mpi/core/call_notes.hpp"

#include <algorithm>

#include "interfaces/mpi/core/request.hpp"

namespace coracle::mpi {
namespace {

bool is_pending(const Request* request) noexcept {
  return request != nullptr && request->is_active() && !request->is_done();
}

void add_peer(internals::SignalText& text, int peer, const Comm& comm) noexcept {
  text.add("rank {}{}", peer, comm.is_inter() ? " of the other group" : "");
  const std::uint32_t of_job = comm.peer_group().member(peer);
  if (of_job != static_cast<std::uint32_t>(peer)) text.add(" (rank {} of MPI_COMM_WORLD)", of_job);
}

}  // namespace

void add_message(internals::SignalText& text, bool is_receive, int peer, int tag, const Comm& comm) noexcept {
  text.add("{}", is_receive ? " from " : " to ");
  if (peer == kAnySource)
    text.add("any rank");
  else
    add_peer(text, peer, comm);
  if (tag == kAnyTag)
    text.add(", any tag, on ");
  else
    text.add(", tag {}, on ", tag);
  comm.add_label(text);
}

void CollectiveNote::add_brief(internals::SignalText& text) const noexcept {
  text.add(" on ");
  comm_.add_label(text);
}

void RequestsNote::add_brief(internals::SignalText& text) const noexcept {
  if (requests_.size() != 1) {
    const auto pending = std::count_if(requests_.begin(), requests_.end(), is_pending);
    text.add(", {} of {} requests not done", pending, requests_.size());
  } else if (is_pending(requests_.front())) {
    text.add(" for ");
    requests_.front()->add_to(text);
  }
}

void RequestsNote::add_lines(internals::SignalText& text) const noexcept {
  constexpr int kToldMax = 8;
  if (requests_.size() == 1) return;
  int pending = 0;
  for (const Request* const request : requests_) {
    if (!is_pending(request) || ++pending > kToldMax) continue;
    text.add("  not done: ");
    request->add_to(text);
    text.add("\n");
  }
  if (pending > kToldMax) text.add("  ... and {} more\n", pending - kToldMax);
}

}  // namespace coracle::mpi
