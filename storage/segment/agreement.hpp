// Agreement: what all members of a team bring, given to each of them; and failures that all agree on, so that nobody
// waits in vain for a member that could not go on. Not for hot paths: all goes through the team's first member.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {
class Team;
}

namespace coracle::internals::storage {

/// The bytes of every member, in the team's order. Collective. Throws Error (peer_lost) when a member is lost.
Task<std::vector<std::vector<std::byte>>> exchange(Team& team, std::vector<std::byte> mine);

/// The same with one value of each.
template <class T>
Task<std::vector<T>> exchange_value(Team& team, T mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &mine, sizeof(T));
  const std::vector<std::vector<std::byte>> all = co_await exchange(team, std::move(bytes));
  std::vector<T> values(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&values[i], all[i].data(), sizeof(T));
  co_return values;
}

/// Throws the failure of the first member that has one, with its code and words, at every member. Collective.
Task<> agree(Team& team, std::optional<Error> failure);

}  // namespace coracle::internals::storage
