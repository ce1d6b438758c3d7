// Messages: tagged messages between the members of a team, by the rules of MPI: matched by team, source and tag, kept
// in order for each pair of ranks, with wildcards at the receiver.
//
// Short ones are **eager**: they travel at once, straight into the buffer of a receive that is posted, else into memory
// of the receiver's runtime, of which every sender has a limited room (FlowControl). Of all others only the place
// travels, and the receiver copies from the sender's buffer (**rendezvous**): one copy, wherever the ranks share
// memory, also from one layout straight to another. See Rendezvous for the schemes.
//
// Source: Shimada, Hori, Ishikawa: the rendezvous of Open MPI over PVAS (IPSJ 2015), in which the receiver copies once,
// straight from the send buffer.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/messages/arrivals.hpp"
#include "runtime/messages/message_waits.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// One rank's. Its thread only. Places are those of the team; buffers belong to the operation until it has ended.
class Messages final : public Arrivals, private LossObserver {
 public:
  /// Scattered bytes up to this are packed by their sender; of more, within an address space, only the place travels.
  static constexpr std::size_t kPackedBytesMax = 512;

  static void check_member(const Team& team, std::uint32_t place, const char* what) {
    CORACLE_ASSERT(place < team.size(), "{}: there is no member {} in a team of {}", what, place, team.size());
  }

  /// The rank of a member; -1 for any.
  static int peer_of(const Team& team, std::uint32_t source) noexcept {
    return source == kAnySource ? -1 : static_cast<int>(team.member(source));
  }

  /// This rank's.
  static Messages& of(Rank& rank) {
    Messages* made = rank.core().messages();
    return made != nullptr ? *made : make(rank);
  }

  explicit Messages(Rank& rank);
  /// Tells standard error of messages that nobody has received.
  ~Messages();

  /// What Team::recv gives. `source`: a member of `team`, or kAnySource.
  Receive receive(Team& team, const MessageTarget& target, std::uint32_t source, std::uint64_t tag) {
    return {*this, team, {team.core().identity(), source, tag}, peer_of(team, source), target, on_device(target)};
  }
  /// Whether a receive that begins now may find a message, or that none can come: it asks Receive::await_ready() then.
  bool may_be_ready() const noexcept { return unexpected() != 0 || rank_.core().peers().any_lost(); }
  /// See Team::probe.
  std::optional<Received> probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// See Team::wait_probe.
  Task<Received> wait_probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// Of Team::matched_probe: taken out, or null.
  UnexpectedOwner matched_probe(Team& team, std::uint32_t from, std::uint64_t tag);
  /// Receives a message that a matched probe has taken, after begin_to_take().
  Task<Received> receive(UnexpectedOwner message, MessageTarget target);
  /// A message that a matched probe has taken will not be received: its sender goes on.
  void drop(UnexpectedOwner message);

  /// From now on messages that this rank receives come by `way`, where that can be, however short; for measurements.
  void fix_scheme(RendezvousScheme way) noexcept;
  // --- for sends ---
  /// Whether a message can go at once; takes its room.
  bool may_go_at_once(std::uint32_t peer, std::size_t bytes) {
    return is_short(bytes) && flow_control_.take_room(peer, bytes);
  }
  /// Whether a message is of those that go at once where there is room.
  bool is_short(std::size_t bytes) const noexcept { return bytes <= eager_bytes_; }
  /// As Team::send, for who is no coroutine: sends a message that lies in one piece during the call, as most short ones
  /// to ranks of the same node go; or gives false, and nothing has happened: it is not short enough, there is no room
  /// for it, or a tool is to be told of it.
  bool send_now(const Envelope& envelope, const MessageSource& source, std::uint32_t peer);
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
  static void on_piece(Rank& rank, const Message& message) { of(rank).rendezvous_.on_piece(message); }
  static void on_supply(Rank& rank, const Message& message);
  /// Of what is for RendezvousSends.
  template <void (RendezvousSends::*Take)(const Message&)>
  static void on_sends(Rank& rank, const Message& message) {
    (of(rank).sends_.*Take)(message);
  }

  static Messages& make(Rank& rank);
  // Of losses that concern receives and probes: one observer for all that wait.
  bool concerns(std::uint32_t peer) const noexcept override;
  void lost(const Loss& loss) noexcept override;
  bool needs_copy(std::uint32_t peer, const MessageSource& source) const noexcept;
  [[gnu::always_inline]] void arrive(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload);
  void keep(UnexpectedOwner message);

  HandlerId data_handler_;
  bool has_processes_;  // each rank is one
  std::size_t eager_bytes_;
};

}  // namespace coracle::internals
