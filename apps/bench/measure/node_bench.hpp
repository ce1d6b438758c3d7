// What the benchmarks between nodes have in common: who takes part, and plain sockets, which are what a C program does
// between two nodes without the library: the limits.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/bench/measure/report.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"

namespace coracle::internals::bench {

/// Before a rank blocks: the last messages of a collective leave it in the loop's turns that follow.
Task<> let_go_of_output();

/// One connection between rank 0 and its partner on another node, at the address that the job itself uses. All calls
/// but meet() block the rank, whose peer must make the matching call. Throws Error when the connection fails.
class PlainSockets {
 public:
  /// How a side waits for bytes.
  enum class Wait {
    sleeping,  ///< In recv(): what most programs do.
    spinning,  ///< By recv() again and again: the least that a round trip can take.
  };
  static constexpr std::size_t kWriteBytesMax = std::size_t{1} << 20;

  PlainSockets(Rank& self, std::uint32_t partner) noexcept : self_(self), partner_(partner) {}
  ~PlainSockets();
  PlainSockets(const PlainSockets&) = delete;
  PlainSockets& operator=(const PlainSockets&) = delete;

  /// Collective over all ranks; others than the two only take part in the agreement.
  Task<> meet();

  /// `count` times `out` to the partner and then an answer into `in`; the partner calls answer() with the same sizes.
  void ask(std::span<const std::byte> out, std::span<std::byte> in, std::uint64_t count, Wait wait) const;
  void answer(std::span<std::byte> in, std::span<const std::byte> out, std::uint64_t count, Wait wait) const;
  /// `count` times `data`, in writes of at most kWriteBytesMax; then waits for one short answer, which receive() sends
  /// when it has all.
  void stream(std::span<const std::byte> data, std::uint64_t count, Wait wait) const;
  void receive(std::span<std::byte> place, std::uint64_t count, Wait wait) const;

 private:
  void send_all(std::span<const std::byte> bytes, Wait wait) const;
  void receive_all(std::span<std::byte> bytes, Wait wait) const;
  [[noreturn]] void fail(const char* what) const;

  Rank& self_;
  std::uint32_t partner_;
  int fd_ = -1;
};

constexpr const char* kSleepingName = "sockets ping-pong, blocking";
constexpr const char* kSpinningName = "sockets ping-pong, spinning";

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
