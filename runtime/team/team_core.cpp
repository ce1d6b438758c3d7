// Membership of teams, and their end when a member is lost.
#include "runtime/team/team_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

std::uint32_t place_in(const std::vector<std::uint32_t>& members, std::uint32_t rank) {
  const auto mine = std::find(members.begin(), members.end(), rank);
  CORACLE_ASSERT(mine != members.end(), "rank {} is not a member of its own team", rank);
  return static_cast<std::uint32_t>(mine - members.begin());
}

std::vector<std::uint64_t> offsets_of_leaders(const TeamNodes& nodes, const std::vector<std::uint64_t>& offsets) {
  std::vector<std::uint64_t> leaders(nodes.count());
  for (std::uint32_t node = 0; node < nodes.count(); ++node) leaders[node] = offsets[nodes.member(node, 0)];
  return leaders;
}

}  // namespace

TeamCore::TeamCore(Rank& rank)
    : rank_(rank),
      size_(rank.size()),
      index_(rank.id()),
      nodes_(rank.core().region(), rank.id()),
      own_area_(reinterpret_cast<TeamArea*>(rank.core().region().segment(rank.id()))) {}

TeamCore::TeamCore(Rank& rank, TeamPlan& plan)
    : rank_(rank),
      members_(std::move(plan.members)),
      size_(static_cast<std::uint32_t>(members_.size())),
      index_(place_in(members_, rank.id())),
      identity_(plan.identity),
      nodes_(rank.core().region(), members_, index_),
      leader_offsets_(offsets_of_leaders(nodes_, plan.offsets)),
      own_area_(reinterpret_cast<TeamArea*>(plan.memory.data())) {
  rank.local<Teams>().enter(*this);
}

TeamCore::~TeamCore() {
  if (identity_ != 0) rank_.local<Teams>().leave(*this);
}

void TeamCore::watch_members() {
  rank_.core().peers().observers().add(*this);
  for (const Loss& loss : rank_.losses()) lost(loss);
}

Task<std::uint64_t> TeamCore::enter_signals(std::uint64_t ticket) {
  check_whole("barrier");
  while (left_ != ticket) {
    co_await left_one_;  // who is cancelled here breaks the team, and so nobody waits for his ticket
    check_whole("barrier");
  }
  co_return ticket + 1;
}

void TeamCore::leave_signals() noexcept {
  ++left_;
  left_one_.set();
  left_one_.reset();
}

void TeamCore::check_whole(const char* what) const {
  if (broken_) [[unlikely]]
    rank_.core().peers().throw_lost(what, lost_member_);
}

bool TeamCore::has(std::uint32_t peer) const noexcept {
  return members_.empty() || std::find(members_.begin(), members_.end(), peer) != members_.end();
}

void TeamCore::lost(const Loss& loss) noexcept {
  // A member that has ended has seen all others come to finalize: what is still awaited of them is on its way.
  if (loss.kind == Loss::Kind::fault && has(loss.peer)) break_by(loss);
}

void TeamCore::break_as_misfit(const std::string& text) {
  break_by({rank_.id(), text, Loss::Kind::gave_up});
}

void TeamCore::throw_misfit(const std::string& text) {
  break_as_misfit(text);
  throw Error(Errc::bad_input, text);
}

void TeamCore::give_up() noexcept {
  break_by({rank_.id(), "", Loss::Kind::gave_up});
}

void TeamCore::break_by(const Loss& loss) {
  if (broken_) return;
  broken_ = true;
  lost_member_ = loss.peer;
  if (loss.kind == Loss::Kind::gave_up) rank_.core().peers().note_gave_up(loss.peer, loss.reason);
  observers_.tell(loss);
  left_one_.set();
  left_one_.reset();
  for (TeamObserver* observer : rank_.local<Teams>().observers_) observer->broken(*this);
  // Each member tells all others (of a large team some, who pass it on): whoever waits for one that has given up, and
  // has lost nobody itself, would wait for ever.
  constexpr std::uint32_t kAllToAll = 64;
  // Of a loss each member hears the reason elsewhere; of wrong calls only here.
  const std::string told = loss.kind == Loss::Kind::gave_up ? loss.reason : std::string();
  const auto tell = [&](std::uint32_t index) {
    if (index == index_ || rank_.lost(member(index))) return;
    rank_.service().spawn(Teams::tell_member(rank_, member(index), identity_, {loss.peer, told, loss.kind}));
  };
  if (size_ <= kAllToAll) {
    for (std::uint32_t index = 0; index < size_; ++index) tell(index);
  } else {
    for (std::uint32_t step = 1; step < size_; step *= 2) {
      tell((index_ + step) % size_);
      tell((index_ + size_ - step) % size_);
    }
  }
}

namespace {

/// Those that ranks leave in an identity, whose last bit is 0.
int count_bits_of(std::uint32_t ranks) noexcept {
  return 31 - static_cast<int>(std::bit_width(ranks - 1));
}

}  // namespace

Teams::Origin Teams::origin_of(std::uint32_t identity) const noexcept {
  const int count_bits = count_bits_of(rank_.size());
  return {identity >> 1 >> count_bits, identity >> 1 & ((std::uint32_t{1} << count_bits) - 1)};
}

std::uint32_t Teams::new_identity() {
  // Even, since odd ones are of layers' own messages; 0 is the world's. By the rank it differs from any that another
  // one makes, by the count, which has all bits that ranks leave, from those that this one has made.
  const int count_bits = count_bits_of(rank_.size());
  const std::uint32_t counts = std::uint32_t{1} << count_bits;
  for (std::uint32_t attempt = 0; attempt < counts; ++attempt) {
    count_ = (count_ + 1) % counts;
    const std::uint32_t identity = (rank_.id() << count_bits | count_) << 1;
    if (!all_.contains(identity)) return identity;
  }
  throw Error(
      std::make_error_code(std::errc::no_buffer_space),
      fmt::format("rank {} is the first member of {} teams, which is the most in a job of {} ranks; let some go",
                  rank_.id(), counts, rank_.size()));
}

Teams::Teams(Rank& rank) : rank_(rank), all_{{0, &rank.core().world()}} {}

void Teams::enter(TeamCore& team) {
  sweep();
  const bool is_new = all_.emplace(team.identity(), &team).second;
  CORACLE_ASSERT(is_new, "identity {} has a team", team.identity());
}

void Teams::keep_until_departed(Slab<std::byte> memory, const std::atomic<std::uint32_t>& departed,
                                std::uint32_t local_size) {
  kept_.push_back({std::move(memory), &departed, local_size});
  sweep();
}

void Teams::sweep() noexcept {
  // acquire: pairs with the local members' departure.
  std::erase_if(kept_,
                [](const Kept& kept) { return kept.departed->load(std::memory_order_acquire) == kept.local_size; });
}

TeamCore* Teams::find(std::uint32_t identity) const noexcept {
  const auto found = all_.find(identity);
  return found == all_.end() ? nullptr : found->second;
}

void Teams::on_broken(Rank& rank, const Message& message) {
  TeamCore* team = rank.local<Teams>().find(static_cast<std::uint32_t>(message.argument(0)));
  if (team == nullptr) return;
  const std::string reason(reinterpret_cast<const char*>(message.payload().data()), message.payload().size());
  team->break_by(
      {static_cast<std::uint32_t>(message.argument(1)), reason, static_cast<Loss::Kind>(message.argument(2))});
}

Task<> Teams::tell_member(Rank& rank, std::uint32_t member, std::uint32_t identity, Loss loss) {
  co_await yield();  // not from inside the transport that has found the loss
  co_await ignore_loss(rank.request(member, on_broken, std::as_bytes(std::span(loss.reason)), identity, loss.peer,
                                    static_cast<std::uint64_t>(loss.kind)));
}

void TeamCore::break_like(const TeamCore& whole) {
  if (whole.broken_) break_by({whole.lost_member_, "", Loss::Kind::fault});
}

std::optional<std::uint32_t> TeamCore::take_at_odds() noexcept {
  return std::exchange(at_odds_, std::nullopt);
}

void Teams::observe(TeamObserver& observer) {
  observers_.push_back(&observer);
}

}  // namespace coracle::internals
