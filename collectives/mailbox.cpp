// Matching of messages inside collectives.
#include "collectives/mailbox.hpp"

#include <cstring>
#include <utility>

#include "collectives/sizes.hpp"
#include "runtime/error.hpp"

namespace coracle {
namespace {

std::uint64_t pack(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

Mailbox::Key Mailbox::key_of(const Message& message) noexcept {
  const std::uint64_t packed = message.argument(0);
  return {static_cast<std::uint32_t>(packed >> 32), static_cast<std::uint32_t>(packed), message.argument(1)};
}

Task<> Mailbox::send(Team& team, std::uint32_t to, std::uint64_t tag, std::span<const std::byte> data) {
  team.check_whole("collective");
  const std::uint32_t peer = team.member(to);
  const std::uint64_t who = pack(team.identity(), team.index());
  if (data.size() <= kWholeBytesMax) {
    co_await rank_.request(peer, on_data, data, who, tag);
    co_return;
  }
  // Cancelled, it must still wait, but the receiver may never come: members of a broken team send offers back.
  const auto cancelled = [](void* of) {
    auto* broken = static_cast<Team*>(of);
    broken->rank().service().spawn(give_up(*broken));
  };
  PeerEvent taken(rank_.core(), "collective", peer, cancelled, &team);
  const Loan loan(rank_.core().lent(), data);
  co_await rank_.request(peer, on_offer, {}, who, tag, reinterpret_cast<std::uint64_t>(data.data()), data.size(),
                         reinterpret_cast<std::uint64_t>(&taken));
  co_await taken;                       // until then the receiver may read from `data`
  if (team.broken()) co_await yield();  // it was cancelled, perhaps
  team.check_whole("collective");
}

void Mailbox::on_data(Rank& rank, const Message& message) {
  Arrival arrival;
  arrival.data.assign(message.payload().begin(), message.payload().end());
  rank.local<Mailbox>().accept(key_of(message), std::move(arrival));
}

void Mailbox::on_offer(Rank& rank, const Message& message) {
  const Key key = key_of(message);
  const Team* team = rank.local<Teams>().find(key.team);
  if (team == nullptr || team->broken()) return message.reply(on_taken, {}, {message.argument(4)});
  Arrival arrival;
  arrival.is_offer = true;
  arrival.offer = {message.argument(2), message.argument(3), message.argument(4), message.source()};
  rank.local<Mailbox>().accept(key, std::move(arrival));
}

void Mailbox::on_taken(Rank&, const Message& message) {
  reinterpret_cast<PeerEvent*>(message.argument(0))->set();
}

void Mailbox::broken(Team& team) {
  const auto of_team = [&team](const auto& entry) { return entry.first.team == team.identity(); };
  for (const auto& entry : arrived_) {
    const Offer& offer = entry.second.offer;
    if (of_team(entry) && entry.second.is_offer && !rank_.lost(offer.sender))
      rank_.service().spawn(send_back(rank_, offer.sender, offer.sender_event));
  }
  std::erase_if(arrived_, of_team);
}

Task<> Mailbox::give_up(Team& team) {
  co_await yield();  // not from inside the cancellation of other waits
  team.give_up();
}

Task<> Mailbox::send_back(Rank& rank, std::uint32_t sender, std::uint64_t sender_event) {
  co_await yield();  // not from inside the transport that has found the loss
  try {
    co_await rank.request(sender, on_taken, {}, sender_event);
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;  // its sender knows
  }
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
  team.check_whole("collective");
  const Key key{team.identity(), from, tag};
  if (const auto arrived = arrived_.find(key); arrived != arrived_.end()) {
    const Arrival arrival = std::move(arrived->second);
    arrived_.erase(arrived);
    co_await take(team.member(from), arrival, data);
    co_return;
  }
  Posted posted(rank_, team, from);
  posted_.emplace(key, &posted);
  std::exception_ptr failure;
  try {
    co_await posted.arrived;
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    posted_.erase(key);
    std::rethrow_exception(failure);
  }
  co_await take(team.member(from), posted.arrival, data);
}

Task<> Mailbox::take(std::uint32_t sender_rank, const Arrival& arrival, std::span<std::byte> data) {
  const std::size_t bytes = arrival.is_offer ? arrival.offer.bytes : arrival.data.size();
  if (bytes == data.size()) {
    if (!arrival.is_offer) {
      if (bytes > 0) std::memcpy(data.data(), arrival.data.data(), bytes);
      co_return;
    }
    co_await rank_.get(
        Remote<std::byte>(RemoteAddress{arrival.offer.address, sender_rank, RemoteAddress::kWholeMemory}), data);
  }
  if (arrival.is_offer) co_await rank_.request(sender_rank, on_taken, {}, arrival.offer.sender_event);
  if (bytes != data.size()) throw_sizes_differ(data.size(), bytes, sender_rank);
}

}  // namespace coracle
