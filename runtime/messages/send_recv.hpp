// Team's tagged messages, as declared in team.hpp, and messages that are sent or received many times.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/started.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

template <class T>
Send Team::send(std::span<T> data, std::uint32_t to, std::uint64_t tag) {
  static_assert(std::is_trivially_copyable_v<T>, "a message's elements travel as their bytes");
  return messages().send(*this, MessageSource(byte_span(data)), to, tag);
}

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Send Team::send(const Range& data, std::uint32_t to, std::uint64_t tag) {
  return send(std::span(std::ranges::data(data), std::ranges::size(data)), to, tag);
}

inline Send Team::send(const ScatteredSource& source, std::uint32_t to, std::uint64_t tag) {
  return messages().send(*this, MessageSource(source), to, tag);
}

template <class T>
Task<> Team::send_value(T value, std::uint32_t to, std::uint64_t tag) {
  if constexpr (detail::check_travels_as_bytes<T>()) co_await send(std::span<const T>(&value, 1), to, tag);
}

template <class T>
Receive Team::recv(std::span<T> buffer, std::uint32_t from, std::uint64_t tag) {
  static_assert(std::is_trivially_copyable_v<T>, "a message's elements travel as their bytes");
  return messages().receive(*this, MessageTarget(writable_byte_span(buffer)), from, tag);
}

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Receive Team::recv(Range& buffer, std::uint32_t from, std::uint64_t tag) {
  return recv(std::span(std::ranges::data(buffer), std::ranges::size(buffer)), from, tag);
}

inline Receive Team::recv(const ScatteredTarget& target, std::uint32_t from, std::uint64_t tag) {
  return messages().receive(*this, MessageTarget(target), from, tag);
}

template <class T>
Task<T> Team::recv_value(std::uint32_t from, std::uint64_t tag) {
  if constexpr (detail::check_travels_as_bytes<T>()) {
    T value;
    const Received received = co_await recv(std::span<T>(&value, 1), from, tag);
    if (received.bytes != sizeof(T)) throw_short_value(received, sizeof(T));
    co_return value;
  }
}

template <class T, class U>
Task<Received> Team::send_recv(std::span<T> data, std::uint32_t to, std::uint64_t send_tag, std::span<U> buffer,
                               std::uint32_t from, std::uint64_t recv_tag) {
  // Posted first, so that what comes meanwhile finds it.
  const std::tuple<Received, std::monostate> both =
      co_await when_all(recv(buffer, from, recv_tag), send(data, to, send_tag));
  co_return std::get<0>(both);
}

/// A message that is sent, or received, many times alike: made once by Team::prepare_send or prepare_recv.
///
///     PersistentSend halo = team.prepare_send(std::span(edge), right, 7);
///     for (...) { Started<> sent = halo.start(); compute(); co_await sent.done(); }
class PersistentSend {
 public:
  PersistentSend(Team& team, const MessageSource& source, std::uint32_t to, std::uint64_t tag) noexcept
      : team_(team), source_(source), to_(to), tag_(tag) {}
  Send run() { return team_.messages().send(team_, source_, to_, tag_); }
  Started<> start() { return coracle::internals::start(team_.rank(), run()); }

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
  Receive run() { return team_.messages().receive(team_, target_, from_, tag_); }
  Started<Received> start() { return coracle::internals::start(team_.rank(), run()); }

 private:
  Team& team_;
  MessageTarget target_;
  std::uint32_t from_;
  std::uint64_t tag_;
};

template <class T>
PersistentSend Team::prepare_send(std::span<T> data, std::uint32_t to, std::uint64_t tag) {
  return {*this, MessageSource(byte_span(data)), to, tag};
}

inline PersistentSend Team::prepare_send(const ScatteredSource& source, std::uint32_t to, std::uint64_t tag) {
  return {*this, MessageSource(source), to, tag};
}

template <class T>
PersistentRecv Team::prepare_recv(std::span<T> buffer, std::uint32_t from, std::uint64_t tag) {
  return {*this, MessageTarget(writable_byte_span(buffer)), from, tag};
}

inline PersistentRecv Team::prepare_recv(const ScatteredTarget& target, std::uint32_t from, std::uint64_t tag) {
  return {*this, MessageTarget(target), from, tag};
}

inline Task<Received> Team::send_recv(ScatteredSource source, std::uint32_t to, std::uint64_t send_tag,
                                      ScatteredTarget target, std::uint32_t from, std::uint64_t recv_tag) {
  const std::tuple<Received, std::monostate> both =
      co_await when_all(recv(target, from, recv_tag), send(source, to, send_tag));
  co_return std::get<0>(both);
}

inline std::optional<Received> Team::probe(std::uint32_t from, std::uint64_t tag) {
  return messages().probe(*this, from, tag);
}

inline Task<Received> Team::wait_probe(std::uint32_t from, std::uint64_t tag) {
  return messages().wait_probe(*this, from, tag);
}

inline std::optional<MatchedMessage> Team::matched_probe(std::uint32_t from, std::uint64_t tag) {
  return messages().matched_probe(*this, from, tag);
}

}  // namespace coracle::internals
