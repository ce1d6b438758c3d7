// Stages: a mate that gives or lends its block stands at 1, and its leader at 2 when it has all. A leader that hands
// out stands at 1, and a mate that has fetched all at 2.
#include "collectives/node/gather_within.hpp"

namespace coracle::internals::within {

Task<> offer(Mates& mates, std::span<const std::byte> mine, std::uint32_t leader) {
  if (mine.size() <= mates.given_bytes_max()) {
    co_await mates.give(mine);
    co_return;
  }
  mates.lend(mine, 1);
  co_await mates.wait(leader, 2);
}

void collected(Mates& mates) noexcept {
  mates.round().publish(2);
}

Task<> hand_out(Mates& mates, std::span<const std::byte> data) {
  if (data.size() <= mates.given_bytes_max()) {
    co_await mates.give(data);
    co_return;
  }
  mates.lend(data, 1);
  co_await mates.wait_for_all(2);
}

Task<> fetch(Mates& mates, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target) {
  co_await mates.wait(leader, 1);
  mates.check_bytes(leader, whole_bytes);
  co_await mates.take(leader, offset, target);
}

void fetched(Mates& mates) noexcept {
  mates.round().publish(2);
}

}  // namespace coracle::internals::within
