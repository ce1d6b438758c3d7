// split: new teams out of one.
#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <exception>
#include <optional>
#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/node_area.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

struct SplitCall {
  std::uint32_t color;
  std::uint32_t key;
  std::uint32_t index;
  std::uint32_t identity;  // of the part, if its first member is this one
  std::bitset<TeamArea::kSlots> taken;
};

/// The rank's only split as long as this lives.
class Splitting {
 public:
  explicit Splitting(Rank& rank) : teams_(rank.local<Teams>()) {
    if (teams_.begin_split()) return;
    throw Error(Errc::bad_input,
                fmt::format("rank {}: split while another split of this rank is in progress: await one before you call "
                            "the next",
                            rank.id()));
  }
  ~Splitting() { teams_.end_split(); }
  Splitting(const Splitting&) = delete;
  Splitting& operator=(const Splitting&) = delete;

 private:
  Teams& teams_;
};

}  // namespace

Task<std::unique_ptr<Team>> Team::split(std::uint32_t color, std::uint32_t key, Where where) {
  std::optional<Preparation> preparation(std::in_place, *this, "split");
  const Splitting splitting(rank());
  Teams& teams = rank().local<Teams>();
  SplitCall mine{color, key, index(), color == kNoTeam ? 0 : teams.new_identity(rank().id()), {}};
  for (std::uint32_t slot = 0; slot < TeamArea::kSlots; ++slot) mine.taken[slot] = teams.taken(slot);
  std::vector<SplitCall> calls(size());
  calls[index()] = mine;
  co_await gather_all_bytes(*this, std::as_bytes(std::span(&calls[index()], 1)),
                            std::as_writable_bytes(std::span(calls)), Blocks(size(), sizeof(SplitCall)),
                            Algorithm::automatic, where, Called::split);
  std::erase_if(calls, [color](const SplitCall& call) { return call.color != color; });
  std::sort(calls.begin(), calls.end(), [](const SplitCall& left, const SplitCall& right) {
    return left.key != right.key ? left.key < right.key : left.index < right.index;
  });
  std::vector<std::uint32_t> members;
  members.reserve(calls.size());
  for (const SplitCall& call : calls) {
    members.push_back(member(call.index));
    mine.taken |= call.taken;
  }
  std::uint32_t slot = 0;
  while (slot < TeamArea::kSlots && mine.taken[slot]) ++slot;
  std::unique_ptr<Team> team;
  if (color != kNoTeam && slot < TeamArea::kSlots)
    team = std::make_unique<Team>(rank(), std::move(members), slot, calls.front().identity);
  // Of split, not of a barrier(): one that a member calls meanwhile must not pass for it.
  const CollectiveCall meeting{.called = Called::split, .where = where};
  std::exception_ptr failure;
  try {
    co_await meet_all(meeting);  // every member's area is made before anyone looks or raises a signal there
    if (team) team->node_area().meet();
    co_await meet_all(meeting);  // all have looked before anyone's team ends, and another takes its area
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    // Members that came out of the barrier wait in the new team for those that did not.
    if (team) team->core().break_like(*this);
    std::rethrow_exception(failure);
  }
  preparation.reset();  // it is over everywhere
  if (!team && color != kNoTeam)
    throw Error(std::make_error_code(std::errc::no_buffer_space),
                "split: a rank can be in at most 256 teams at a time; let some of them go");
  co_return team;
}

}  // namespace coracle::internals
