// The batches of active messages that benchmarks time: between rank 0, which takes the time, and its partner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/bench/measure/batches.hpp"
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
  Task<> calls(std::uint64_t count) { return is_first() ? call(count) : rest(); }
  /// All requests go out without waiting for any; then the partner says that it has them.
  Task<> flood(std::uint64_t count);

 private:
  std::span<const std::byte> payload(std::size_t bytes) const noexcept { return out_.local().first(bytes); }

  Task<> ping(std::size_t bytes, std::uint64_t count);
  Task<> serve(std::uint64_t count);
  Task<> first_request(std::size_t bytes, std::uint64_t count);
  Task<> second_request(std::size_t bytes, std::uint64_t count);
  Task<> first_long(std::size_t bytes, std::uint64_t count);
  Task<> second_long(std::size_t bytes, std::uint64_t count);
  Task<> first_signal(std::uint64_t count);
  Task<> second_signal(std::uint64_t count);
  Task<> call(std::uint64_t count);
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

}  // namespace coracle::internals::bench
