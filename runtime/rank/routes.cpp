// The list of transports, from the first to the last.
#include "runtime/rank/routes.hpp"

#include <utility>

#include "runtime/core/event_loop.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

Routes::Routes(const JobRegion& region, EventLoop& loop) noexcept
    : region_(region), loop_(loop), first_rank_(region.first_rank()), ranks_(region.ranks()) {}

Routes::~Routes() = default;

void Routes::set_local(std::unique_ptr<Transport> transport) {
  local_ = transport.get();
  add(std::move(transport));
}

void Routes::add(std::unique_ptr<Transport> transport) {
  loop_.add_poller(*transport);
  all_.push_back(std::move(transport));
}

void Routes::set_route(std::uint32_t node, Transport& transport) {
  by_node_.resize(region_.shape().nodes, local_);
  by_node_[node] = &transport;
}

bool Routes::leave() noexcept {
  bool left = true;
  for (const auto& transport : all_) left &= transport->leave();
  return left;
}

void Routes::end() noexcept {
  for (; !all_.empty(); all_.pop_back()) loop_.remove_poller(*all_.back());
}

Transport& Routes::to_other_node(std::uint32_t rank) const noexcept {
  return *by_node_[region_.node_of(rank)];
}

}  // namespace coracle::internals
