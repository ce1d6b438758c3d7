// ExchangeSmall: every mate posts a little data, or leaves it in its arena, and looks at what all the others have
// posted: one step, after which nobody waits for anybody. The quickest way among few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/team/board.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Lives in the frame of a collective of a team that is on one node alone. Without coroutines of its own where it can:
/// they would cost more than what they do.
class ExchangeSmall {
 public:
  /// The same everywhere. `mates_max`: more would read too many cache lines each.
  static bool suits(Team& team, std::size_t bytes, std::uint32_t mates_max) noexcept;

  explicit ExchangeSmall(Team& team) noexcept : round_(team.board()) {}

  /// `if (!exchange.begin(data)) co_await exchange.begin_later(data);`: posts `data`.
  bool begin(std::span<const std::byte> data);
  Task<> begin_later(std::span<const std::byte> data);

  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.mates(); }
  std::uint32_t place() const noexcept { return round_.place(); }
  /// After the beginning, before the first wait.
  void look_out() noexcept;
  /// `if (!exchange.has(mate)) co_await exchange.from(mate);`
  bool has(std::uint32_t mate) noexcept { return round_.has_posted(mate, 1); }
  FlagWait from(std::uint32_t mate) { return round_.posted(mate, 1); }
  /// What it has posted; throws Error (bad_input) if that is not `bytes`.
  const std::byte* data_of(std::uint32_t mate, std::size_t bytes);

 private:
  void leave(std::byte* room, std::span<const std::byte> data) noexcept;

  Round round_;
};

}  // namespace coracle::internals
