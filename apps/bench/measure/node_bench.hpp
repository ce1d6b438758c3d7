// What the benchmarks between nodes have in common: who takes part, and plain sockets, which are what a C program does
// between two nodes without the library: the limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/bench/measure/contest.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

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
  FileDescriptor socket_;
};

constexpr const char* kSleepingName = "sockets ping-pong, blocking";
constexpr const char* kSpinningName = "sockets ping-pong, spinning";

/// Rank 0 and the first rank of the second node; any others rest.
class NodePair {
 public:
  explicit NodePair(Rank& self);

  bool asks() const noexcept { return self_.id() == 0; }
  bool serves() const noexcept { return self_.id() == partner_; }
  /// For ranks that rest: rank 0.
  std::uint32_t peer() const noexcept { return asks() ? partner_ : 0; }
  std::uint32_t partner() const noexcept { return partner_; }
  PlainSockets& sockets() noexcept { return sockets_; }

  // Batches of each side's part.
  /// `out` from rank 0 to its partner, and `in` back.
  Contest::PlainBatch round_trips(std::span<std::byte> out, std::span<std::byte> in, PlainSockets::Wait wait) const;
  /// `data` from rank 0 to its partner or (`forth` is false) back, again and again; it lands in `place`.
  Contest::PlainBatch stream(std::span<const std::byte> data, std::span<std::byte> place, bool forth,
                             PlainSockets::Wait wait) const;

  /// `what`, with the transport and placement.
  std::string title(const std::string& what) const;

 private:
  Rank& self_;
  std::uint32_t partner_;
  PlainSockets sockets_;
};

}  // namespace coracle::internals::bench
