// reduce: see between/all_reduce.cpp.
#include "collectives/reduce.hpp"

#include <algorithm>

#include "collectives/between/between.hpp"
#include "collectives/scratch.hpp"

namespace coracle {

Task<> reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, std::uint32_t root) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  const Group group(team, team.next_sequence());
  if (team.index() == root) {
    co_await between::reduce(group, values, reduction, root);
    co_return;
  }
  const Scratch own(values.size());
  std::copy(values.begin(), values.end(), own.data());
  co_await between::reduce(group, own.span(), reduction, root);
}

}  // namespace coracle
