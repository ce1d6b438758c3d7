// all_reduce: binomial reduction to the first member, in the team's order, then broadcast.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "collectives/broadcast.hpp"
#include "collectives/mailbox.hpp"
#include "runtime/rank.hpp"

namespace coracle {

template <class T, class Operation>
Task<> Team::all_reduce(std::span<T> values, Operation operation) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  Mailbox& mailbox = rank_.local<Mailbox>();
  const std::uint64_t sequence = next_sequence();
  std::vector<T> received(values.size());
  std::uint64_t step_number = 0;
  for (std::uint32_t step = 1; step < size_; step *= 2, ++step_number) {
    const std::uint64_t tag = tag_of(sequence, step_number);
    if (index_ % (2 * step) == step) {
      co_await mailbox.send(*this, index_ - step, tag, std::as_bytes(values));
      break;
    }
    if (index_ + step < size_) {
      // What comes covers the members behind those that `values` covers: the order is kept.
      co_await mailbox.receive(*this, index_ + step, tag, std::as_writable_bytes(std::span(received)));
      std::transform(values.begin(), values.end(), received.begin(), values.begin(), operation);
    }
  }
  co_await broadcast_bytes(*this, std::as_writable_bytes(values), 0);
}

template <class T, class Operation>
  requires std::is_trivially_copyable_v<T>
Task<T> Team::all_reduce(T value, Operation operation) {
  co_await all_reduce(std::span<T>(&value, 1), operation);
  co_return value;
}

}  // namespace coracle
