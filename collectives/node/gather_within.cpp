// Steps: a local member that gives or exposes its block stands at 1, and its leader at 2 when it has all. A leader that
// hands out stands at 1, and a local member that has fetched all at 2.
#include "collectives/node/gather_within.hpp"

namespace coracle::internals::within {

Task<> offer(LocalCollective& local, std::span<const std::byte> mine, std::uint32_t leader) {
  if (mine.size() <= local.given_bytes_max()) {
    co_await local.give(mine);
    co_return;
  }
  local.expose(mine, 1);
  co_await local.wait(leader, 2);
}

void collected(LocalCollective& local) noexcept {
  local.round().publish(2);
}

Task<> hand_out(LocalCollective& local, std::span<const std::byte> data) {
  if (data.size() <= local.given_bytes_max()) {
    co_await local.give(data);
    co_return;
  }
  local.expose(data, 1);
  co_await local.wait_for_all(2);
}

Task<> fetch(LocalCollective& local, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target) {
  co_await local.wait(leader, 1);
  local.check_bytes(leader, whole_bytes);
  co_await local.take(leader, offset, target);
}

void fetched(LocalCollective& local) noexcept {
  local.round().publish(2);
}

}  // namespace coracle::internals::within
