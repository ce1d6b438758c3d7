// gather_all: binomial gather to the first member, then broadcast.
#include "collectives/gather_all.hpp"

#include <algorithm>

#include "collectives/broadcast.hpp"
#include "collectives/mailbox.hpp"

namespace coracle {

Task<> gather_all_bytes(Team& team, std::span<std::byte> all) {
  Mailbox& mailbox = team.rank().local<Mailbox>();
  const std::uint64_t sequence = team.next_sequence();
  const std::uint32_t size = team.size();
  const std::uint32_t me = team.index();
  const std::size_t block = all.size() / size;
  // Before step s a member whose place is a multiple of 2^s holds the blocks of the 2^s members from itself on.
  std::uint64_t step_number = 0;
  for (std::uint32_t step = 1; step < size; step *= 2, ++step_number) {
    const std::uint64_t tag = tag_of(sequence, step_number);
    if (me % (2 * step) == step) {
      const std::uint32_t count = std::min(step, size - me);
      co_await mailbox.send(team, me - step, tag, all.subspan(me * block, count * block));
      break;
    }
    if (me + step < size) {
      const std::uint32_t count = std::min(step, size - (me + step));
      co_await mailbox.receive(team, me + step, tag, all.subspan((me + step) * block, count * block));
    }
  }
  co_await broadcast_bytes(team, all, 0);
}

}  // namespace coracle
