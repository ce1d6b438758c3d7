// The layers above Rank.
#include "runtime/launch/whole_rank.hpp"

#include <memory>

#include "runtime/scattered/exchange.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

WholeRank::WholeRank(const JobRegion& region, std::uint32_t id, EventLoop& loop) : Rank(region, id, loop) {
  core().set_layout_mover(local<scattered::Exchange>());
  const auto all = std::make_shared<Team>(*this);
  set_world(all, all->core());
}

}  // namespace coracle::internals
