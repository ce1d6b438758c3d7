// Messages: tagged messages between the members of a team, by the rules of MPI: matched by team, source and tag, kept
// in order for each pair of ranks, with wildcards at the receiver.
//
// Short ones are **eager**: they travel at once, straight into the buffer of a receive that is posted, else into memory
// of the receiver's runtime, of which every sender has a limited room (Flow). Of all others only the place travels, and
// the receiver copies from the sender's buffer (**rendezvous**): one copy, wherever the ranks share memory, also from
// one layout straight to another. See Rendezvous for the ways.
//
// Source: Shimada, Hori, Ishikawa: the rendezvous of Open MPI over PVAS (IPSJ 2015), in which the receiver copies once,
// straight from the send buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "runtime/core/byte_counts.hpp"
#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/device_memory.hpp"
#include "runtime/messages/message_waits.hpp"
#include "runtime/messages/send.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class MatchedMessage;

/// One rank's. Its thread only. Places are those of the team; buffers belong to the operation until it has ended.
class Messages : public Arrivals {
 public:
  /// Scattered bytes up to this are packed by their sender; of more, within an address space, only the place travels.
  static constexpr std::size_t kPackedBytesMax = 512;

  explicit Messages(Rank& rank);
  /// Tells standard error of messages that nobody has received.
  ~Messages();

  /// See Team::send.
  Send send(Team& team, const MessageSource& source, std::uint32_t to, std::uint64_t tag) {
    check_member(team, to, "send");
    CORACLE_ASSERT(tag != kAnyTag, "send: kAnyTag is for receives");
    return {*this, {team.identity(), team.index(), tag}, source, rank_.core(), team.member(to)};
  }
  /// See Team::recv.
  Receive receive(Team& team, const MessageTarget& target, std::uint32_t from, std::uint64_t tag) {
    if (from != kAnySource) check_member(team, from, "recv");
    return {*this, team, {team.identity(), from, tag}, target, on_device(target)};
  }
  /// See Team::probe.
  std::optional<Received> probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// See Team::wait_probe.
  Task<Received> wait_probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// See Team::matched_probe.
  std::optional<MatchedMessage> matched_probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// Receives a message that a matched probe has taken.
  Task<Received> receive(UnexpectedMessage::Owner message, MessageTarget target);
  /// A message that a matched probe has taken will not be received: its sender goes on.
  void drop(UnexpectedMessage::Owner message);

  /// From now on messages that this rank receives come by `way`, where that can be, however short; for measurements.
  void fix_way(MessageWay way) noexcept;
  // --- for sends ---
  /// Whether a message can go at once; takes its room.
  bool may_go_at_once(std::uint32_t peer, std::size_t bytes) {
    return bytes <= eager_bytes_ && flow_.take_room(peer, bytes);
  }
  /// Whether a message that goes at once must be packed or copied first: since it is scattered, or since the receiver
  /// would have to ask the kernel for it.
  bool needs_buffer(std::uint32_t peer, const MessageSource& source) const noexcept {
    if (source.is_scattered()) return true;
    return has_processes_ && source.bytes() > kPackedBytesMax && needs_copy(peer, source);
  }
  /// Whether it lies in a GPU's memory, which loads and stores do not reach.
  template <class Byte>
  bool on_device(const MessageMemory<Byte>& memory) const {
    return is_on_device(rank_.core(), memory);
  }
  HandlerId data_handler() const noexcept { return data_handler_; }

 private:
  static void on_data(Rank& rank, const Message& message);
  static void on_room(Rank& rank, const Message& message);
  static void on_offer(Rank& rank, const Message& message);
  static void on_withdraw(Rank& rank, const Message& message);
  // What is for Rendezvous.
  static void on_taken(Rank& rank, const Message& message);
  static void on_help(Rank& rank, const Message& message);
  static void on_pull(Rank& rank, const Message& message);
  static void on_piece(Rank& rank, const Message& message);

  static void check_member(const Team& team, std::uint32_t place, const char* what) {
    CORACLE_ASSERT(place < team.size(), "{}: there is no member {} in a team of {}", what, place, team.size());
  }
  bool needs_copy(std::uint32_t peer, const MessageSource& source) const noexcept;
  void arrive(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload);
  void keep(UnexpectedMessage::Owner message);

  HandlerId data_handler_;
  bool has_processes_;  // each rank is one
  std::size_t eager_bytes_;
};

inline Send::Send(Messages& messages, const Envelope& envelope, const MessageSource& source, RankCore& core,
                  std::uint32_t peer)
    : messages_(messages), envelope_(envelope), source_(source), request_(core, peer) {
  request_.local = const_cast<std::byte*>(source.origin());
  request_.bytes = source.bytes();
  request_.header.handler = messages.data_handler();
  request_.header.argument_count = 2;
  request_.header.arguments[0] = envelope.place();
  request_.header.arguments[1] = envelope.tag;
}

inline Messages& Team::messages() {
  return rank().messages();
}

inline bool Send::await_ready() {
  const auto peer = static_cast<std::uint32_t>(request_.peer());
  // What lies on a GPU stays there until the receiver says where it is to go.
  const bool at_once = !messages_.on_device(source_) && messages_.may_go_at_once(peer, source_.bytes());
  if (at_once && !messages_.needs_buffer(peer, source_)) [[likely]]
    return request_.await_ready();
  return begin(peer, at_once);
}

/// For Team::recv_value.
[[noreturn]] void throw_short_value(const Received& received, std::size_t bytes);

/// A message that a matched probe has taken out, so that no other receive gets it. One that dies without having been
/// received is dropped.
class [[nodiscard]] MatchedMessage {
 public:
  /// For Messages.
  MatchedMessage(Messages& messages, UnexpectedMessage::Owner message) noexcept
      : messages_(&messages), message_(std::move(message)) {}
  MatchedMessage(MatchedMessage&&) noexcept = default;
  MatchedMessage& operator=(MatchedMessage&&) = delete;
  ~MatchedMessage() {
    if (message_) messages_->drop(std::move(message_));
  }

  Received info() const noexcept { return {message_->envelope.source, message_->envelope.tag, message_->bytes()}; }
  /// Once. Throws Error (truncated) when `buffer` is too short: then the message is gone.
  template <class T>
  Task<Received> recv(std::span<T> buffer) {
    return recv(MessageTarget(writable_byte_span(buffer)));
  }
  Task<Received> recv(const ScatteredTarget& target) { return recv(MessageTarget(target)); }

 private:
  Task<Received> recv(const MessageTarget& target) {
    CORACLE_ASSERT(message_ != nullptr, "a matched message was received twice");
    return messages_->receive(std::move(message_), target);
  }

  Messages* messages_;
  UnexpectedMessage::Owner message_;
};

}  // namespace coracle::internals
