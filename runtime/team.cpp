// Membership of teams.
#include "runtime/team.hpp"

#include <algorithm>

#include "runtime/rank.hpp"

namespace coracle {

Team::Team(Rank& rank) : rank_(rank), size_(rank.size()), index_(rank.id()), slot_(0) {}

Team::Team(Rank& rank, std::vector<std::uint32_t> members, std::uint32_t slot)
    : rank_(rank), members_(std::move(members)), size_(static_cast<std::uint32_t>(members_.size())), slot_(slot) {
  const auto mine = std::find(members_.begin(), members_.end(), rank.id());
  CORACLE_ASSERT(mine != members_.end(), "rank {} is not a member of its own team", rank.id());
  index_ = static_cast<std::uint32_t>(mine - members_.begin());
  rank.local<TeamSlots>().take(slot);
  own_area() = TeamArea{};
}

Team::~Team() {
  if (slot_ != 0) rank_.local<TeamSlots>().release(slot_);
}

TeamArea& Team::own_area() const noexcept {
  return *rank_.own(area(index_));
}

Task<std::uint64_t> Team::enter_signals() {
  const std::uint64_t ticket = entered_++;
  while (left_ != ticket) co_await uninterrupted(left_one_);
  co_return ticket + 1;
}

void Team::leave_signals() noexcept {
  ++left_;
  left_one_.set();
  left_one_.reset();
}

}  // namespace coracle
