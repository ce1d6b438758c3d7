// Broadcast by a binomial tree: in step s, the first 2^s members (counted from the root) each send to the one 2^s
// further.
#include "collectives/broadcast.hpp"

#include <vector>

#include "collectives/mailbox.hpp"
#include "runtime/combinators.hpp"

namespace coracle {

Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  Mailbox& mailbox = team.rank().local<Mailbox>();
  const std::uint64_t tag = tag_of(team.next_sequence(), 0);
  const std::uint32_t size = team.size();
  const std::uint32_t me = (team.index() + size - root) % size;  // place counted from the root
  std::uint32_t step = 1;
  for (; step < size && me >= step; step *= 2) {
    if (me < 2 * step) co_await mailbox.receive(team, (me - step + root) % size, tag, data);
  }
  std::vector<Task<>> sends;
  for (; step < size; step *= 2) {
    if (me + step < size) sends.push_back(mailbox.send(team, (me + step + root) % size, tag, data));
  }
  if (sends.size() == 1)
    co_await sends.front();
  else if (!sends.empty())
    co_await when_all(std::move(sends));
}

}  // namespace coracle
