// ExchangeSmall: every local member contributes a little data, or leaves it in its arena, and looks at what all the
// others have contributed: one step, after which nobody waits for anybody. The quickest way among few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/team/node_area.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Lives in the frame of a collective of a team that is on one node alone. Without coroutines of its own where it can:
/// they would cost more than what they do.
class ExchangeSmall {
 public:
  /// The same everywhere. `local_size_max`: more would read too many cache lines each.
  static bool suits(Team& team, std::size_t bytes, std::uint32_t local_size_max) noexcept;

  explicit ExchangeSmall(Team& team) noexcept : round_(team.node_area()) {}

  /// `if (!exchange.begin(data)) co_await exchange.begin_later(data);`: contributes `data`.
  bool begin(std::span<const std::byte> data);
  Task<> begin_later(std::span<const std::byte> data);

  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.local_size(); }
  std::uint32_t local_index() const noexcept { return round_.local_index(); }
  /// After the beginning, before the first wait.
  void spin_for_last() noexcept;
  /// `if (!exchange.has(other)) co_await exchange.from(other);`
  bool has(std::uint32_t other) noexcept { return round_.has_reached(other, 1); }
  FlagWait from(std::uint32_t other) { return round_.reached(other, 1); }
  /// What it has contributed; throws Error (bad_input) if that is not `bytes`.
  const std::byte* data_of(std::uint32_t other, std::size_t bytes);

 private:
  void leave(std::byte* room, std::span<const std::byte> data) noexcept;

  Round round_;
};

}  // namespace coracle::internals
