// What the benchmarks between nodes have in common: who takes part, and the names of their limits.
#pragma once

#include <fmt/format.h>

#include <string>

#include "apps/bench/measure/plain_sockets.hpp"
#include "apps/bench/measure/report.hpp"
#include "runtime/rank/transport.hpp"

namespace coracle::internals::bench {

constexpr const char* kSleepingName = "sockets ping-pong, blocking";
constexpr const char* kSpinningName = "sockets ping-pong, spinning";

/// The same figure beside another limit.
inline Row beside(Row row, const char* limit_name, const Figure& limit) {
  row.name += ", the same";
  row.limit_name = limit_name;
  row.limit = limit;
  return row;
}

/// Rank 0 and the first rank of the second node; any others rest.
class NodePair {
 public:
  explicit NodePair(Rank& self)
      : self_(self), partner_(self.core().region().first_rank_of(1)), sockets_(self, partner_) {}

  bool asks() const noexcept { return self_.id() == 0; }
  bool serves() const noexcept { return self_.id() == partner_; }
  /// For ranks that rest: rank 0.
  std::uint32_t peer() const noexcept { return asks() ? partner_ : 0; }
  std::uint32_t partner() const noexcept { return partner_; }
  PlainSockets& sockets() noexcept { return sockets_; }

  /// Each side's part of `count` times `out` from rank 0 to its partner, and `in` back.
  void round_trips(std::span<std::byte> out, std::span<std::byte> in, std::uint64_t count,
                   PlainSockets::Wait wait) const {
    if (asks())
      sockets_.ask(out, in, count, wait);
    else if (serves())
      sockets_.answer(out, in, count, wait);
  }

  /// Each side's part of a stream of `count` times `data`, from rank 0 to its partner or (`forth` is false) back, which
  /// lands in `place`.
  void stream(std::span<const std::byte> data, std::span<std::byte> place, bool forth, std::uint64_t count,
              PlainSockets::Wait wait) const {
    if (!asks() && !serves()) return;
    if (asks() == forth)
      sockets_.stream(data, count, wait);
    else
      sockets_.receive(place, count, wait);
  }

  /// `what`, with the transport and placement.
  std::string title(const std::string& what) const {
    const std::string transport = self_.core().transport_to(peer()).name();
    const char* warning = transport == "verbs" ? " (of an emulated device no speed means anything)" : "";
    return fmt::format("{}; between nodes by {}, placement {}{}", what, transport, to_string(self_.placement()),
                       warning);
  }

 private:
  Rank& self_;
  std::uint32_t partner_;
  PlainSockets sockets_;
};

}  // namespace coracle::internals::bench
