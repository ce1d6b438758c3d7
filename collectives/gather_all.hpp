// gather_all: every member's value, everywhere.
#pragma once

#include <span>
#include <vector>

#include "runtime/team.hpp"

namespace coracle {

/// `all`: room for one block of `all.size() / team.size()` bytes per member; this member's block is filled on entry.
Task<> gather_all_bytes(Team& team, std::span<std::byte> all);

template <class T>
Task<std::vector<T>> Team::gather_all(T value) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  std::vector<T> all(size());
  all[index()] = value;
  co_await gather_all_bytes(*this, std::as_writable_bytes(std::span(all)));
  co_return all;
}

}  // namespace coracle
