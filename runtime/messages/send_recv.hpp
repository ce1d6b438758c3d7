// Team's tagged messages, as declared in team.hpp, and messages that are sent or received many times.
#pragma once

#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/message_waits.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/send.hpp"
#include "runtime/rank/started.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class Messages;

/// For Team::recv_value.
[[noreturn]] void throw_short_value(const Received& received, std::size_t bytes);

/// A message that a matched probe has taken out, so that no other receive gets it. One that dies without having been
/// received is dropped.
class [[nodiscard]] MatchedMessage {
 public:
  /// For Messages.
  MatchedMessage(Messages& messages, UnexpectedOwner message) noexcept;
  MatchedMessage(MatchedMessage&&) noexcept = default;
  MatchedMessage& operator=(MatchedMessage&&) = delete;
  ~MatchedMessage();

  Received info() const noexcept;
  /// Once. Throws Error (truncated) when `buffer` is too short: then the message is gone.
  Task<Received> recv(const MessageTarget& buffer);

 private:
  Messages* messages_;
  UnexpectedOwner message_;
};

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Send Team::send(const Range& data, std::uint32_t to, std::uint64_t tag) {
  return send(std::span(std::ranges::data(data), std::ranges::size(data)), to, tag);
}

template <class T>
Task<> Team::send_value(T value, std::uint32_t to, std::uint64_t tag) {
  if constexpr (detail::check_travels_as_bytes<T>()) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(&value), sizeof(T));
    co_await send(bytes, to, tag);
  }
}

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Receive Team::recv(Range& buffer, std::uint32_t from, std::uint64_t tag) {
  return recv(std::span(std::ranges::data(buffer), std::ranges::size(buffer)), from, tag);
}

template <class T>
Task<T> Team::recv_value(std::uint32_t from, std::uint64_t tag) {
  if constexpr (detail::check_travels_as_bytes<T>()) {
    T value;
    const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(&value), sizeof(T));
    const Received received = co_await recv(bytes, from, tag);
    if (received.bytes != sizeof(T)) throw_short_value(received, sizeof(T));
    co_return value;
  }
}

/// A message that is sent, or received, many times alike: made once by Team::prepare_send or prepare_recv.
///
///     PersistentSend halo = team.prepare_send(std::span(edge), right, 7);
///     for (...) { Started<> sent = halo.start(); compute(); co_await sent.done(); }
class PersistentSend {
 public:
  PersistentSend(Team& team, const MessageSource& source, std::uint32_t to, std::uint64_t tag) noexcept
      : team_(team), source_(source), to_(to), tag_(tag) {}
  Send run();
  Started<> start();

 private:
  Team& team_;
  MessageSource source_;
  std::uint32_t to_;
  std::uint64_t tag_;
};

class PersistentRecv {
 public:
  PersistentRecv(Team& team, const MessageTarget& target, std::uint32_t from, std::uint64_t tag) noexcept
      : team_(team), target_(target), from_(from), tag_(tag) {}
  Receive run();
  Started<Received> start();

 private:
  Team& team_;
  MessageTarget target_;
  std::uint32_t from_;
  std::uint64_t tag_;
};

}  // namespace coracle::internals
