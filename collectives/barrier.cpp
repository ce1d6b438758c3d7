// Barrier, in two levels: the members of a node meet in their node area; between the nodes their first members raise
// signals along a tree. The end of a job is the last one, or what takes its place when ranks have been lost.
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/blocking.hpp"
#include "collectives/collectives.hpp"
#include "collectives/node/short_collective.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/round.hpp"
#include "runtime/team/team.hpp"
#include "runtime/team/team_nodes.hpp"

namespace coracle::internals {
namespace {

// So few look at each other's contributions; more would read too many cache lines.
constexpr std::uint32_t kMutualMax = 3;

enum Step : std::uint64_t { kCome = 1, kGo };

/// Members give nothing but their coming.
struct MutualMeeting {
  static constexpr bool kAwaitsAll = true;

  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  std::span<const std::byte> given() const noexcept { return {}; }
  bool take(LocalCollective& local) const {
    // Not one's own: some processors give a line that has just been written to who reads it.
    for (std::uint32_t other = 0; other < local.count(); ++other)
      if (other != local.local_index()) local.round().check(other);
    return true;
  }
};

bool meets_mutually(const Team& team) noexcept {
  return team.nodes().count() == 1 && team.size() > 1 && team.size() <= kMutualMax;
}

/// Who has said goodbye to this rank, which waits for all whom it has not lost.
class Goodbyes final : private LossObserver {
 public:
  explicit Goodbyes(Rank& rank) : rank_(rank), said_(rank.size()) { said_[rank.id()] = true; }

  static void on_goodbye(Rank& rank, const Message& message) {
    auto& self = rank.local<Goodbyes>();
    self.said_[message.source()] = true;
    self.changed_.set();
  }

  /// From here on those who have not said it are asked after, all at once.
  void expect_all() { rank_.core().peers().observers().add(*this); }

  Task<> all_said() {
    while (missing()) {
      changed_.reset();
      co_await uninterrupted(changed_);
    }
    leave();
  }

 private:
  bool missing() const noexcept {
    for (std::uint32_t peer = 0; peer < said_.size(); ++peer)
      if (concerns(peer) && !rank_.lost(peer)) return true;
    return false;
  }
  bool concerns(std::uint32_t peer) const noexcept override { return !said_[peer]; }
  void lost(const Loss&) noexcept override { changed_.set(); }

  Rank& rank_;
  std::vector<bool> said_;
  Event changed_;
};

/// Without a whole team there is no barrier: everyone tells everyone.
Task<> say_goodbye_to_each(Rank& rank) {
  auto& goodbyes = rank.local<Goodbyes>();
  goodbyes.expect_all();
  for (std::uint32_t peer = 0; peer < rank.size(); ++peer)
    if (peer != rank.id()) co_await ignore_loss(rank.request(peer, Goodbyes::on_goodbye, {}));
  co_await goodbyes.all_said();
}

}  // namespace

/// Between the first members of the nodes.
Task<> Team::meet_other_nodes(std::uint64_t ticket) {
  const std::uint64_t count = co_await enter_signals(ticket);
  // A member that waits here names no peer: the loss of any other will end its wait.
  const auto wait = [this](Signal& signal, std::uint64_t at_least) {
    return GuardedSignalWait(rank().core().signal_waits(), signal, at_least, observers());
  };
  const std::uint32_t me = nodes().own();
  const auto [first_child, children] = signal_tree::children_of(me, nodes().count());
  if (children > 0) co_await wait(own_area().arrived, count * children);
  if (me != 0) {
    co_await rank().raise(leader_area(signal_tree::parent_of(me)).as<Signal>());
    check_whole("barrier");
    co_await wait(own_area().released, count);
  }
  // Nobody waits here for their answers: the rank's service does. Who waits for one that is lost learns of it.
  for (std::uint32_t child = first_child; child < first_child + children; ++child)
    rank().service().spawn(ignore_loss(rank().raise(leader_area(child).as<Signal>() + 1)));
  leave_signals();
  // What others send comes before their signals, as a rule: who has called something else is told so here, if nothing
  // before has waited for data (the root of a broadcast does not).
  if (is_at_odds()) [[unlikely]]
    co_await agree_on_calls();
}

Task<> Team::barrier(Where where) {
  return meet_all({.called = Called::barrier, .where = where});
}

void barrier_blocking(Team& team, std::source_location where, RunTask run) {
  if (!meets_mutually(team)) return run(team.barrier(where));
  short_collective_blocking(false, team, {.called = Called::barrier, .where = where}, MutualMeeting(), run);
}

Task<> Team::finalize(std::source_location where) {
  finalize_job();
  return meet_all({.called = Called::finalize, .where = where});
}

Task<> Team::meet_all(CollectiveCall call) {
  return meets_mutually(*this) ? short_collective(false, *this, call, MutualMeeting()) : meet_on_nodes(call);
}

Task<> Team::meet_on_nodes(CollectiveCall call) {
  check_whole(call.called == Called::split ? "split" : "barrier");
  const Participation part(*this, call);
  const bool alone = nodes().count() == 1;
  // Before this barrier waits for its node: a later one may be the first to have all of its node.
  const std::uint64_t ticket = alone || nodes().local_index_of(index()) != 0 ? 0 : take_ticket();
  if (node_area_->local_size() == 1) {
    if (!alone) co_await meet_other_nodes(ticket);
    co_return;
  }
  Round round(*node_area_);
  if (!round.is_open()) co_await round.open();
  const std::uint32_t missing = round.local_size() - 1 - round.arrive();
  const bool last = missing == 0;
  if (last) round.decide(alone ? kGo : kCome);
  if (!alone && round.local_index() == 0) {
    co_await round.decided(kCome);
    if (round.decision() > kGo) [[unlikely]]
      round.check_all();  // as below
    co_await meet_other_nodes(ticket);
    round.decide(kGo);
  }
  if (alone && last) co_return;
  if (alone && missing == 1) round.spin_for_last([&round] { return round.has_decided(kGo); });
  co_await round.decided(kGo);
  if (round.decision() > kGo) [[unlikely]]
    round.check_all();  // a local member has failed in another collective
}

Task<> finalize_job(Rank& rank) {
  bool broken = rank.world().broken();
  try {
    if (!broken) co_await rank.world().finalize(std::source_location());
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost && error.code() != Errc::given_up) throw;
    broken = true;
  }
  if (broken) co_await say_goodbye_to_each(rank);
}

}  // namespace coracle::internals
