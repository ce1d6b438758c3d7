// All collectives: the members of Team. Here are broadcasts, and the forms of gathers that take a value and give
// several: `T x = co_await team.broadcast(value, root);`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/data/arguments.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/reductions.hpp"
#include "runtime/core/task.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/sized_values.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Bytes of any kind; see Team::broadcast.
Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice = {},
                       std::source_location where = std::source_location::current());

// Values whose size only their owner knows, as bytes: what strings, vectors and the like are in a collective.

/// Gives the `value` of the member at `root`; those of others are not looked at.
Task<std::vector<std::byte>> broadcast_sized(Team& team, std::vector<std::byte> value, std::uint32_t root,
                                             std::source_location where);
namespace detail {

template <class T>
Task<T> broadcast_value(Team& team, T value, std::uint32_t root, std::source_location where) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    co_await broadcast_bytes(team, std::as_writable_bytes(std::span(&value, 1)), root, {}, where);
    co_return value;
  } else {
    const Preparation preparation(team, "broadcast");
    const bool gives = team.index() == root;
    std::vector<std::byte> bytes;  // with a name: g++ 12 destroys what a condition in an awaited call makes twice
    if (gives) bytes = to_wire(value);
    bytes = co_await broadcast_sized(team, std::move(bytes), root, where);
    if (gives) co_return std::move(value);
    WireReader reader(bytes);
    co_return reader.read<T>();
  }
}

/// Which a vector has room for before they come; others are packed.
template <class T>
inline constexpr bool kGathersInPlace =
    std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && !std::is_same_v<T, bool>;

/// To the member at `root`, or to all.
template <class T>
Task<std::vector<T>> gather_values(Team& team, T value, std::optional<std::uint32_t> root, std::source_location where) {
  const char* const what = root ? "gather" : "gather_all";
  team.core().check_whole(what);
  if (!root && kGathersInPlace<T>) check_results(team, what, team.size(), sizeof(T));  // here the team stays whole
  const Preparation preparation(team, what);
  if constexpr (kGathersInPlace<T>) {
    std::vector<T> all(!root || team.index() == *root ? team.size() : 0);
    const auto mine = std::as_bytes(std::span(&value, 1));
    const auto bytes = std::as_writable_bytes(std::span(all));
    const Blocks blocks(team.size(), sizeof(T));
    if (root)
      co_await gather_bytes(team, mine, bytes, blocks, true, *root, Algorithm::automatic, where);
    else
      co_await gather_all_bytes(team, mine, bytes, blocks, Algorithm::automatic, where);
    co_return all;
  } else {
    const SizedValues all = co_await gather_sized(team, to_wire(value), root, where);
    co_return from_wire<T>(all);
  }
}

}  // namespace detail

template <detail::broadcast_in_place Range>
auto Team::broadcast(Range&& data, std::uint32_t root, BroadcastChoice choice, Where where) {
  if constexpr (detail::check_broadcast_in_place<Range>())
    return broadcast_bytes(*this, detail::bytes_in_place(data), root, choice, where);
  else
    return detail::never<Task<detail::Anything>>();
}
template <class Value>
  requires(!detail::broadcast_in_place<Value>)
Task<std::decay_t<Value>> Team::broadcast(Value&& value, std::uint32_t root, Where where) {
  using T = std::decay_t<Value>;
  if constexpr (detail::check_travels<T>())
    return detail::broadcast_value<T>(*this, std::forward<Value>(value), root, where);
  else
    return detail::never<Task<T>>();
}

template <class T>
Task<std::vector<T>> Team::gather_all(T value, Where where) {
  if constexpr (detail::check_travels<T>())
    return detail::gather_values<T>(*this, std::move(value), std::nullopt, where);
  else
    return detail::never<Task<std::vector<T>>>();
}
template <class T>
Task<std::vector<T>> Team::gather(T value, std::uint32_t root, Where where) {
  if constexpr (detail::check_travels<T>())
    return detail::gather_values<T>(*this, std::move(value), root, where);
  else
    return detail::never<Task<std::vector<T>>>();
}

class Rank;

/// A job's last collective: returns when every rank's program has ended, so that nobody goes while a peer still needs
/// it.
Task<> finalize_job(Rank& rank);

}  // namespace coracle::internals
