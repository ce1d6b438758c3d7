// Telling senders and receives what has become of others.
#include "runtime/messages/arrivals.hpp"

#include <algorithm>

#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

constexpr std::uint64_t kWindowBytesMin = 4096;
constexpr std::uint64_t kSharesMin = 64;  // in small jobs no sender needs all the room there is
// So many times that room is there for senders that have used up theirs: else many of their programs would not go on.
constexpr std::uint64_t kStalledTimes = 16;

/// Of each sender.
std::size_t window_bytes(Rank& rank) noexcept {
  const MessageOptions& options = rank.core().region().shape().messages;
  return std::max(options.unexpected_bytes / std::max<std::uint64_t>(rank.size(), kSharesMin), kWindowBytesMin);
}

}  // namespace

void DropUnexpected::operator()(UnexpectedMessage* message) const noexcept {
  const bool is_alone = message->is_offer_ || message->was_offered();
  const std::size_t bytes = sizeof(UnexpectedMessage) + (is_alone ? 0 : message->bytes_);
  message->~UnexpectedMessage();
  FramePool::release(message, bytes);
}

Arrivals::Arrivals(Rank& rank, Handler room, const RendezvousHandlers& handlers)
    : rank_(rank),
      events_(rank.core().loop().events()),
      flow_control_(window_bytes(rank)),
      short_offers_(rank, flow_control_, rank.core().region().shape().messages.unexpected_bytes * kStalledTimes,
                    handlers.want),
      rooms_(rank.core().region().message_rooms(rank.id())),
      rendezvous_(rank, handlers, rooms_),
      sends_(rank, handlers, rendezvous_.scheme(), rooms_),
      room_handler_(room),
      copied_bytes_max_(rank.core().transport().traits().copied_bytes_max) {}

void Arrivals::tell_room(std::uint32_t peer) {
  rank_.service().spawn(send_room(peer));
}

Task<> Arrivals::send_room(std::uint32_t peer) {
  co_await yield();  // not from inside a handler
  if (!rank_.lost(peer)) co_await rank_.request(peer, room_handler_, {}, flow_control_.received_from(peer));
}

std::optional<std::uint32_t> Arrivals::lost_source_of(Team& team, std::uint32_t from) {
  if (from != kAnySource) return rank_.lost(team.member(from)) ? std::optional(team.member(from)) : std::nullopt;
  // Who receives from anybody hears once of each loss, and can then go on with those who live.
  for (const Loss& loss : rank_.losses()) {
    const std::pair of_loss(team.core().identity(), loss.peer);
    if (!team.has(loss.peer) || std::find(told_losses_.begin(), told_losses_.end(), of_loss) != told_losses_.end())
      continue;
    told_losses_.push_back(of_loss);
    return loss.peer;
  }
  return std::nullopt;
}

void Arrivals::told(const Team& team, std::uint32_t source, std::uint32_t rank) {
  if (source == kAnySource) told_losses_.emplace_back(team.core().identity(), rank);
}

}  // namespace coracle::internals
