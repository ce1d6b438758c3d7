// Matching of messages inside collectives.
#include "collectives/messages/mailbox.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "collectives/data/arguments.hpp"
#include "collectives/messages/asked_pieces.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/read_exposures.hpp"
#include "runtime/team/collective_watchdog.hpp"
#include "runtime/team/message_events.hpp"

namespace coracle::internals {
namespace {

// Above the size of what is offered, since a message has only so many words.
constexpr unsigned kSignatureShift = 48;
constexpr std::uint64_t kBytesMask = (std::uint64_t{1} << kSignatureShift) - 1;
constexpr std::uint32_t kNoSignature = 0xffff;  // all have fewer bits

std::uint64_t pack(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

Mailbox::Key Mailbox::key_of(const Message& message) noexcept {
  const std::uint64_t packed = message.argument(0);
  return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed), message.argument(1)};
}

Task<> Mailbox::send(Team& team, std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data) {
  team.core().check_whole("collective");
  const std::uint32_t peer = team.member(to);
  const std::uint64_t who = pack(team.core().identity(), team.index());
  const std::uint64_t signature = team.core().log().signature_at(sequence_of(tag)).value_or(kNoSignature);
  const SendTold told(rank_.loop().events(), {team.core().internal_identity(), team.index(), tag}, peer, data.size());
  if (data.size() <= kWholeBytesMax) {
    co_await rank_.request(peer, on_data, data, who, tag, signature);
    co_return;
  }
  // Cancelled, it must still wait, but the receiver may never come: members of a broken team send offers back.
  const auto cancelled = [](void* of) {
    auto* broken = static_cast<Team*>(of);
    broken->rank().service().spawn(give_up(*broken));
  };
  PeerEvent taken(rank_.core(), "collective", peer, cancelled, &team);
  taken.explain({WaitKind::collective});
  const ReadExposure exposure(rank_.core().read_exposures(), data);
  co_await rank_.request(peer, on_offer, {}, who, tag, reinterpret_cast<std::uint64_t>(data.data()),
                         data.size() | signature << kSignatureShift, reinterpret_cast<std::uint64_t>(&taken));
  co_await taken;                       // until then the receiver may read from `data`
  if (team.broken()) co_await yield();  // it was cancelled, perhaps
  team.core().check_whole("collective");
}

std::uint64_t Mailbox::tell_of_arrival(Rank& rank, const Message& message, std::uint64_t bytes) {
  Events* const events = rank.loop().events();
  if (events == nullptr) [[likely]]
    return 0;
  const Key key = key_of(message);
  return internals::tell_of_arrival(*events, {key.team | 1, key.sender, key.tag}, message.source(), bytes);
}

void Mailbox::on_data(Rank& rank, const Message& message) {
  Arrival arrival;
  arrival.number = tell_of_arrival(rank, message, message.payload().size());
  arrival.data.assign(message.payload().begin(), message.payload().end());
  arrival.signature = static_cast<std::uint32_t>(message.argument(2));
  rank.local<Mailbox>().listen(key_of(message), arrival, message.source());
  rank.local<Mailbox>().accept(key_of(message), std::move(arrival));
}

void Mailbox::on_offer(Rank& rank, const Message& message) {
  const Key key = key_of(message);
  const std::uint64_t number = tell_of_arrival(rank, message, message.argument(3) & kBytesMask);
  const TeamCore* team = rank.local<Teams>().find(key.team);
  if (team == nullptr || team->broken()) return message.reply(on_taken, {}, {message.argument(4)});
  Arrival arrival;
  arrival.is_large = true;
  arrival.number = number;
  arrival.large = {message.argument(2), message.argument(3) & kBytesMask, message.argument(4), message.source()};
  arrival.signature = static_cast<std::uint32_t>(message.argument(3) >> kSignatureShift);
  rank.local<Mailbox>().listen(key, arrival, message.source());
  rank.local<Mailbox>().accept(key, std::move(arrival));
}

void Mailbox::on_taken(Rank&, const Message& message) {
  reinterpret_cast<PeerEvent*>(message.argument(0))->set();
}

void Mailbox::broken(TeamCore& team) {
  const auto of_team = [&team](const auto& entry) { return entry.first.team == team.identity(); };
  for (const auto& entry : arrived_) {
    const LargeMessage& large = entry.second.large;
    if (of_team(entry) && entry.second.is_large && !rank_.lost(large.sender))
      rank_.service().spawn(send_back(rank_, large.sender, large.sender_event));
  }
  std::erase_if(arrived_, of_team);
}

Task<> Mailbox::give_up(Team& team) {
  co_await yield();  // not from inside the cancellation of other waits
  team.core().give_up();
}

Task<> Mailbox::send_back(Rank& rank, std::uint32_t sender, std::uint64_t sender_event) {
  co_await yield();  // not from inside the transport that has found the loss
  co_await ignore_loss(rank.request(sender, on_taken, {}, sender_event));
}

void Mailbox::accept(const Key& key, Arrival arrival) {
  const auto posted = posted_.find(key);
  if (posted == posted_.end()) {
    arrived_.emplace(key, std::move(arrival));
    return;
  }
  posted->second->arrival = std::move(arrival);
  posted->second->arrived.set();
  posted_.erase(posted);
}

Task<> Mailbox::receive(Team& team, std::uint32_t from, std::uint64_t tag, std::span<std::byte> data) {
  team.core().check_whole("collective");
  const Key key{team.core().identity(), from, tag};
  if (const auto arrived = arrived_.find(key); arrived != arrived_.end()) {
    const Arrival arrival = std::move(arrived->second);
    arrived_.erase(arrived);
    co_await take(team, key, arrival, data);
    co_return;
  }
  Posted posted(rank_, team, from);
  posted_.emplace(key, &posted);
  try {
    co_await posted.arrived;
  } catch (...) {
    posted_.erase(key);
    throw;
  }
  co_await take(team, key, posted.arrival, data);
}

/// A sender that has called something else is found out here, too, when nobody waits for what it sends.
void Mailbox::listen(const Key& key, const Arrival& arrival, std::uint32_t sender) {
  TeamCore* team = rank_.local<Teams>().find(key.team);
  if (team == nullptr || team->broken() || arrival.signature == kNoSignature) return;
  if (!team->log().fits(sequence_of(key.tag), arrival.signature, sender))
    rank_.local<CollectiveWatchdog>().differs(*team, sender);
}

Task<> Mailbox::take(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data) {
  if (arrival.number == 0) [[likely]]
    return take_whole(team, key, arrival, data);
  return take_as_told(team, key, arrival, data);
}

Task<> Mailbox::take_as_told(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data) {
  co_await take_whole(team, key, arrival, data);
  tell_of_end(*rank_.loop().events(), CORACLE_RECEIVE_END, team.member(key.sender), arrival.number);
}

Task<> Mailbox::take_whole(Team& team, const Key& key, const Arrival& arrival, std::span<std::byte> data) {
  const std::uint32_t sender_rank = team.member(key.sender);
  const std::size_t bytes = arrival.is_large ? arrival.large.bytes : arrival.data.size();
  const std::uint32_t ours = team.core().log().signature_at(sequence_of(key.tag)).value_or(kNoSignature);
  const bool fits = ours == arrival.signature || ours == kNoSignature || arrival.signature == kNoSignature;
  if (fits && bytes == data.size()) {
    if (!arrival.is_large) {
      if (bytes > 0) std::memcpy(data.data(), arrival.data.data(), bytes);
      co_return;
    }
    const RemoteAddress place{arrival.large.address, sender_rank, RemoteAddress::kWholeMemory};
    if (AskedPieces::is_needed(rank_, place, bytes))
      co_await rank_.local<AskedPieces>().fetch(sender_rank, place.offset, data);
    else
      co_await rank_.get(Remote<std::byte>(place), data);
  }
  if (arrival.is_large) co_await rank_.request(sender_rank, on_taken, {}, arrival.large.sender_event);
  if (!fits) {
    co_await CollectiveWatchdog::compare(rank_, team.core().identity(), sender_rank);
    team.core().check_whole("collective");
    team.core().throw_misfit(
        fmt::format("ranks {} and {} have not called the same collectives of their team", rank_.id(), sender_rank));
  }
  if (bytes != data.size()) throw_sizes_differ(data.size(), bytes, sender_rank);
}

}  // namespace coracle::internals
