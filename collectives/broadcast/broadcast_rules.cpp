// Which broadcasts are short.
#include "collectives/broadcast/broadcast_rules.hpp"

#include "collectives/messages/mailbox.hpp"

namespace coracle::internals {
namespace {

// Within a node: shorter ones are copied twice, through the arena, so that nobody has to wait for anybody.
constexpr std::size_t kContributedBytesMax = 4096;

}  // namespace

bool is_short_broadcast(std::uint32_t nodes, std::size_t bytes, const BroadcastChoice& choice) noexcept {
  if (nodes == 1) return bytes <= kContributedBytesMax;
  return bytes == 0 || (choice.method != BroadcastMethod::competitive && choice.tree == BroadcastTree::binomial &&
                        bytes <= Mailbox::kWholeBytesMax);
}

}  // namespace coracle::internals
