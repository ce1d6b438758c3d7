// all_reduce: see between/all_reduce.cpp.
#include "collectives/all_reduce.hpp"

#include "collectives/between/between.hpp"

namespace coracle {

Task<> all_reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction) {
  const Group group(team, team.next_sequence());
  co_await between::all_reduce(group, values, reduction);
}

}  // namespace coracle
