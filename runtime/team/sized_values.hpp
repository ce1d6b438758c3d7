// What the members of a team bring, of any size, given to each of them: the collective that layers use which know no
// collectives. It is defined above, as the members of Team are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// The members' values, one behind the other in the team's order, and how long each is.
struct SizedValues {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> sizes;
};

/// Gives all at `root`, and nothing elsewhere; without root, all everywhere.
Task<SizedValues> gather_sized(Team& team, std::vector<std::byte> mine, std::optional<std::uint32_t> root,
                               std::source_location where);

namespace detail {

template <class T>
std::vector<std::byte> to_wire(const T& value) {
  WireWriter writer;
  writer.write(value);
  return writer.take();
}

template <class T>
std::vector<T> from_wire(const SizedValues& all) {
  std::vector<T> values;
  values.reserve(all.sizes.size());
  std::size_t begin = 0;
  for (const std::size_t size : all.sizes) {
    WireReader reader(std::span<const std::byte>(all.bytes.data() + begin, size));
    values.push_back(reader.read<T>());
    begin += size;
  }
  return values;
}

}  // namespace detail

/// Every member's value, in the team's order, as by Team::gather_all(T). Collective.
template <class T>
Task<std::vector<T>> gather_from_all(Team& team, T value,
                                     std::source_location where = std::source_location::current()) {
  const Preparation preparation(team, "gather_all");
  std::vector<std::byte> mine = detail::to_wire(value);
  const SizedValues all = co_await gather_sized(team, std::move(mine), std::nullopt, where);
  co_return detail::from_wire<T>(all);
}

}  // namespace coracle::internals
