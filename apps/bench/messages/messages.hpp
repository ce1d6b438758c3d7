// The batches of active messages that benchmarks time, between rank 0, which takes the time, and its partner; and what
// messages take without the library: flags, and copies out of the sender's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/raw.hpp"
#include "runtime/core/event.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Whom rank 0 exchanges messages with, inside a node.
constexpr std::uint32_t kPartner = 1;

/// What this rank's handlers fill.
struct Mail {
  explicit Mail(Rank&) noexcept {}
  Event arrived;
  std::byte* target = nullptr;
  std::uint64_t counted = 0;
  std::uint64_t expected = ~std::uint64_t{0};

  void take(const Message& message) const;
  void count();
};

/// In each batch rank 0 and its partner make the same call; other ranks too, for whom it does nothing. One object on a
/// rank at a time.
class Messages {
 public:
  static constexpr std::size_t kLargest = std::size_t{16} << 20;

  Messages(Rank& self, std::uint32_t partner);
  /// Collective; before the first batch.
  Task<> meet();

  bool is_first() const noexcept { return self_.id() == 0; }
  bool is_second() const noexcept { return self_.id() == partner_; }
  Remote<std::byte> their_out() const noexcept { return their_out_; }
  std::span<std::byte> out() const noexcept { return out_.local(); }
  std::span<std::byte> in() const noexcept { return in_.local(); }

  /// A request whose handler replies.
  Task<> request_and_reply(std::size_t bytes, std::uint64_t count);
  /// Requests both ways, from coroutine to coroutine.
  Task<> requests(std::size_t bytes, std::uint64_t count);
  /// As requests, but the payload is put into the peer's memory.
  Task<> long_requests(std::size_t bytes, std::uint64_t count);
  Task<> put_signals(std::uint64_t count);
  /// Calls of a function.
  Task<> calls(std::uint64_t count);
  /// All requests go out without waiting for any; then the partner says that it has them.
  Task<> flood(std::uint64_t count);

 private:
  std::span<const std::byte> payload(std::size_t bytes) const noexcept { return out_.local().first(bytes); }

  Task<> ping(std::size_t bytes, std::uint64_t count);
  Task<> serve(std::uint64_t count);
  /// One after the other sends what `send` sends, and awaits the other's.
  template <class Send>
  Task<> in_turn(std::uint64_t count, Send send);
  Task<> send_all(std::uint64_t count);
  Task<> answer_all(std::uint64_t count);

  Rank& self_;
  std::uint32_t partner_;
  Mail& mail_;
  Slab<std::byte> out_;
  Slab<std::byte> in_;
  Slab<Signal> signal_;
  std::uint32_t peer_;
  Remote<std::byte> their_out_;
  Remote<std::byte> their_in_;
  Remote<Signal> their_signal_;
  std::uint64_t signals_ = 0;
};

/// The batches of Messages by plain loads and stores. Throws Error where ranks don't share memory.
class RawMessages {
 public:
  RawMessages(Rank& self, const Messages& messages, std::uint32_t partner);
  /// Collective; before the first batch.
  Task<> meet();

  void ping_pong(std::size_t bytes, std::uint64_t count) const;
  void stream(std::uint64_t count);

 private:
  Rank& self_;
  const Messages& messages_;
  std::uint32_t partner_;  // of rank 0
  Slab<RawFlag> flag_;
  Slab<RawStream> stream_;
  const std::byte* their_out_ = nullptr;
  RawFlag* raw_flag_ = nullptr;
  RawStream* raw_stream_ = nullptr;
  std::uint64_t streamed_ = 0;
};

}  // namespace coracle::internals::bench
