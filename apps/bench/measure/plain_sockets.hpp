// Plain sockets: what a C program does between two nodes without the library. The limits for ranks of several nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/rank/rank.hpp"

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

}  // namespace coracle::internals::bench
