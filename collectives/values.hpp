// The forms of collectives that take a value and give one: `T x = co_await team.broadcast(value, root);`.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/broadcast.hpp"
#include "collectives/gather.hpp"
#include "collectives/gather_all.hpp"
#include "collectives/reduce.hpp"
#include "collectives/room.hpp"
#include "collectives/scan.hpp"
#include "collectives/sized.hpp"
#include "runtime/team.hpp"
#include "runtime/wire.hpp"

namespace coracle::internals {
namespace detail {

template <class T>
constexpr void check_is_no_pointer() {
  static_assert(!std::is_pointer_v<T> && !std::ranges::view<T>,
                "a pointer, span or string_view means nothing at another rank: give a std::string or std::vector");
}

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
  check_is_no_pointer<T>();
  if constexpr (std::is_trivially_copyable_v<T>) {
    co_await broadcast_bytes(team, std::as_writable_bytes(std::span(&value, 1)), root, {}, where);
    co_return value;
  } else {
    const bool gives = team.index() == root;
    std::vector<std::byte> bytes;  // with a name: g++ 12 destroys what a condition in an awaited call makes twice
    if (gives) bytes = to_wire(value);
    bytes = co_await broadcast_sized(team, std::move(bytes), root, where);
    if (gives) co_return std::move(value);
    WireReader reader(bytes);
    co_return reader.read<T>();
  }
}

}  // namespace detail

template <class Value>
  requires(!std::ranges::contiguous_range<Value> ||
           (!std::is_lvalue_reference_v<Value> && !std::ranges::view<std::remove_cvref_t<Value>>))
Task<std::remove_cvref_t<Value>> Team::broadcast(Value&& value, std::uint32_t root, Where where) {
  return detail::broadcast_value<std::remove_cvref_t<Value>>(*this, std::forward<Value>(value), root, where);
}

template <class T, class Operation>
  requires std::is_trivially_copyable_v<T>
Task<T> Team::reduce(T value, Operation operation, std::uint32_t root, Algorithm algorithm, Where where) {
  co_await reduce_bytes(*this, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), root,
                        algorithm, where);
  co_return value;
}

template <class T, class Operation>
  requires std::is_trivially_copyable_v<T>
Task<T> Team::exclusive_scan(T value, Operation operation, std::type_identity_t<T> first, Where where) {
  co_await scan_bytes(*this, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation),
                      reinterpret_cast<const std::byte*>(&first), where);
  co_return value;
}

template <class T>
Task<std::vector<T>> Team::gather_all(T value, Where where) {
  detail::check_is_no_pointer<T>();
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
    check_results(*this, "gather_all", size_, sizeof(T));
    std::vector<T> all(size_);
    all[index_] = value;
    co_await gather_all_bytes(*this, std::as_bytes(std::span(&all[index_], 1)), std::as_writable_bytes(std::span(all)),
                              Blocks(size_, sizeof(T)), Algorithm::automatic, where);
    co_return all;
  } else {
    const SizedValues all = co_await gather_all_sized(*this, detail::to_wire(value), where);
    co_return detail::from_wire<T>(all);
  }
}

template <class T>
Task<std::vector<T>> Team::gather(T value, std::uint32_t root, Where where) {
  detail::check_is_no_pointer<T>();
  if constexpr (std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>) {
    std::vector<T> all(index_ == root ? size_ : 0);
    co_await gather_bytes(*this, std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), root,
                          Algorithm::automatic, where);
    co_return all;
  } else {
    const SizedValues all = co_await gather_sized(*this, detail::to_wire(value), root, where);
    co_return detail::from_wire<T>(all);
  }
}

}  // namespace coracle::internals
