// What a team does for its collectives, with the help of its board and of the watch over wrong calls.
#include "runtime/team/team.hpp"

#include <exception>
#include <optional>
#include <utility>

#include "runtime/rank/rank.hpp"
#include "runtime/team/board.hpp"
#include "runtime/team/collective_watch.hpp"

namespace coracle::internals {

Team::Team(Rank& rank) : TeamCore(rank) {
  watch_members();
  board_ = std::make_unique<Board>(rank, core(), true);
}

Team::Team(Rank& rank, std::vector<std::uint32_t> members, std::uint32_t slot, std::uint32_t identity)
    : TeamCore(rank, std::move(members), slot, identity) {
  board_ = std::make_unique<Board>(rank, core(), false);
  watch_members();
}

Team::~Team() = default;

std::uint64_t Team::begin(const CollectiveCall& call) {
  const std::uint64_t number = log().begin(call);
  if (watch_ == nullptr) [[unlikely]]
    watch_ = &rank().local<CollectiveWatch>();
  watch_->look_on();
  if (const auto peer = log().take_misheard()) [[unlikely]]
    watch_->differs(*this, *peer);
  return number;
}

Task<> Team::agree_on_calls() {
  const std::optional<std::uint32_t> peer = take_at_odds();
  if (!peer) co_return;
  co_await CollectiveWatch::compare(rank(), identity(), *peer);
  check_whole("barrier");
}

Participation::~Participation() {
  team_.core().log().end();
  // Coroutines are never resumed while an exception is on its way: it is this one's.
  if (std::uncaught_exceptions() > 0) team_.core().give_up();
}

Preparation::~Preparation() {
  if (std::uncaught_exceptions() > 0) team_.core().give_up();  // as above
}

}  // namespace coracle::internals
