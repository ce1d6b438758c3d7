// Telling, asking, and taking back.
#include "collectives/messages/readiness.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {
Readiness::Activity::Activity(Team& team, std::uint64_t sequence)
    : of_(team.rank().local<Readiness>()), which_(team.core().identity(), sequence) {
  of_.active_.push_back(which_);
}

Readiness::Activity::~Activity() {
  std::erase(of_.active_, which_);
  std::erase_if(of_.told_,
                [this](const auto& told) { return std::pair(told.first.team, told.first.sequence) == which_; });
}

Task<> Readiness::tell(Team& team, Ready ready, std::vector<std::uint32_t> members) {
  Rank& rank = team.rank();
  const auto payload = std::as_bytes(std::span(&ready, 1));
  std::vector<Task<>> requests;
  requests.reserve(members.size());
  for (const std::uint32_t member : members)
    requests.push_back(ignore_loss(rank.request(team.member(member), on_ready, payload)));
  co_await when_all(std::move(requests));
}

void Readiness::on_ready(Rank& rank, const Message& message) {
  Ready ready;
  if (message.payload().size() != sizeof ready) return;
  std::memcpy(&ready, message.payload().data(), sizeof ready);
  const TeamCore* team = rank.local<Teams>().find(ready.team);
  if (team == nullptr || team->broken()) return;
  auto& self = rank.local<Readiness>();
  const bool is_future = ready.sequence > team->last_sequence();
  const auto active = std::pair{ready.team, ready.sequence};
  if (!is_future && std::find(self.active_.begin(), self.active_.end(), active) == self.active_.end()) return;
  const Key key{ready.team, ready.sequence, ready.node};
  const auto asker = self.askers_.find(key);
  if (asker == self.askers_.end()) {
    self.told_.emplace(key, ready);
    return;
  }
  self.sending_.try_emplace(key);  // from now on, not only when the asker runs again: a take-back may come before
  asker->second->ready = ready;
  asker->second->told.set();
  self.askers_.erase(asker);
}

Task<Ready> Readiness::ask(Team& team, std::uint64_t sequence, std::uint32_t node) {
  const Key key{team.core().identity(), sequence, node};
  if (const auto told = told_.find(key); told != told_.end()) {
    sending_.try_emplace(key);
    co_return told->second;
  }
  team.core().check_whole("broadcast");
  Asker asker(*this, key, team, team.member(team.nodes().member(node, 0)));
  co_await asker.told;
  co_return asker.ready;
}

void Readiness::done(Team& team, std::uint64_t sequence, std::uint32_t node) {
  const auto found = sending_.find({team.core().identity(), sequence, node});
  if (found == sending_.end()) return;
  Rank& rank = team.rank();
  for (const Leaver& leaver : found->second)
    rank.service().spawn(ignore_loss(rank.request(leaver.rank, on_taken_back, {}, leaver.event)));
  sending_.erase(found);
}

Task<> Readiness::take_back(Team& team, std::uint64_t sequence, std::vector<std::uint32_t> members) {
  Rank& rank = team.rank();
  for (const std::uint32_t member : members) {
    const std::uint32_t peer = team.member(member);
    PeerEvent taken_back(rank.core(), "end of a sending", peer);
    taken_back.explain({WaitKind::collective});
    try {
      co_await rank.request(peer, on_take_back, {}, team.core().identity(), sequence, team.nodes().own(),
                            reinterpret_cast<std::uint64_t>(&taken_back));
      co_await taken_back;
    } catch (const Error& error) {
      if (error.code() != Errc::peer_lost) throw;  // it sends no more
    }
  }
}

void Readiness::on_take_back(Rank& rank, const Message& message) {
  auto& self = rank.local<Readiness>();
  const Key key{static_cast<std::uint32_t>(message.argument(0)), message.argument(1),
                static_cast<std::uint32_t>(message.argument(2))};
  self.told_.erase(key);
  const auto sending = self.sending_.find(key);
  if (sending == self.sending_.end()) return message.reply(on_taken_back, {}, {message.argument(3)});
  sending->second.push_back({message.source(), message.argument(3)});
}

void Readiness::on_taken_back(Rank&, const Message& message) {
  reinterpret_cast<PeerEvent*>(message.argument(0))->set();
}

Task<> Readiness::refuse(Rank& rank, const Ready& ready, std::uint64_t bytes, std::uint32_t of_rank) {
  return ignore_loss(rank.request(ready.buffer.rank, on_refused, {}, ready.team, ready.sequence, bytes, of_rank));
}

void Readiness::on_refused(Rank& rank, const Message& message) {
  auto& all = rank.local<Readiness>().receiving_;
  const auto found = all.find({static_cast<std::uint32_t>(message.argument(0)), message.argument(1)});
  if (found == all.end()) return;
  Receiving& receiving = *found->second;
  receiving.other_bytes = message.argument(2);
  receiving.other_rank = static_cast<std::uint32_t>(message.argument(3));
  for (Signal& signal : receiving.arrived)  // seq_cst: as local::raise_signal
    std::atomic_ref<std::uint64_t>(signal.count).fetch_or(~std::uint64_t{0}, std::memory_order_seq_cst);
}

}  // namespace coracle::internals
