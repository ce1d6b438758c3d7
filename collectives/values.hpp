// The forms of collectives that take a value and give one: `T x = co_await team.broadcast(value, root);`.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/broadcast.hpp"
#include "collectives/data/room.hpp"
#include "collectives/gather.hpp"
#include "collectives/gather_all.hpp"
#include "collectives/reduce.hpp"
#include "collectives/scan.hpp"
#include "collectives/sized.hpp"
#include "runtime/core/wire.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
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
    WireReader reader(std::span(all.bytes).subspan(begin, size));
    values.push_back(reader.read<T>());
    begin += size;
  }
  return values;
}

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

template <class T>
Task<std::vector<T>> gather_all_values(Team& team, T value, std::source_location where) {
  if constexpr (kGathersInPlace<T>) {
    team.core().check_whole("gather_all");
    check_results(team, "gather_all", team.size(), sizeof(T));  // as at all others: the team stays whole
    const Preparation preparation(team, "gather_all");
    std::vector<T> all(team.size());
    all[team.index()] = value;
    co_await gather_all_bytes(team, std::as_bytes(std::span(&all[team.index()], 1)),
                              std::as_writable_bytes(std::span(all)), Blocks(team.size(), sizeof(T)),
                              Algorithm::automatic, where);
    co_return all;
  } else {
    const Preparation preparation(team, "gather_all");
    const SizedValues all = co_await gather_all_sized(team, to_wire(value), where);
    co_return from_wire<T>(all);
  }
}

template <class T>
Task<std::vector<T>> gather_values(Team& team, T value, std::uint32_t root, std::source_location where) {
  if constexpr (kGathersInPlace<T>) {
    const Preparation preparation(team, "gather");
    std::vector<T> all(team.index() == root ? team.size() : 0);
    co_await gather_bytes(team, std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), root,
                          Algorithm::automatic, where);
    co_return all;
  } else {
    const Preparation preparation(team, "gather");
    const SizedValues all = co_await gather_sized(team, to_wire(value), root, where);
    co_return from_wire<T>(all);
  }
}

}  // namespace detail

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
    return detail::gather_all_values<T>(*this, std::move(value), where);
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

}  // namespace coracle::internals
