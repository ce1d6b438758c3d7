// The simulated transport: puts, gets, atomics and messages that take their time by the network model, and that promise
// no more than the interface does: what a program may not rely on goes wrong here, sooner or later, for some seed.
//
//  - No operation finishes at once. The source of a put is read at some moment between its start and its landing, so a
//    buffer that is used again too early is noticed.
//  - A put's signal is raised after its data has landed, perhaps some time after; independent transfers may overtake
//    each other (NetworkModel::reorder). Messages of one rank to another keep their order.
//  - Inboxes are bounded: when one is full, senders wait.
//  - What is under way when a peer is lost may arrive or not; of messages, the first ones do, and none after one that
//    does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/rank/message.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/sim/ground.hpp"
#include "transports/sim/nature.hpp"
#include "transports/sim/sim_end.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::sim {

// SimMessage: one message of a simulated job, from its sender's call until its handler has run.

class SimEnd;

struct SimMessage final : Transit {
  /// A request, whose operation it carries out.
  SimMessage(SimEnd& from, SimEnd& to, RequestOperation& request) noexcept;
  /// A reply.
  SimMessage(SimEnd& from, SimEnd& to, const MessageHeader& what, std::span<const std::byte> content) noexcept;

  /// Sends it off; room for it has been taken. It owns itself until it is in the target's inbox. `delay_ns`: until its
  /// sender knows of the room.
  static void launch(std::unique_ptr<SimMessage> message, std::uint64_t delay_ns) noexcept;
  /// The handler of a rendezvous has run: tells the sender.
  static void send_back(std::unique_ptr<SimMessage> message) noexcept;

  /// Large: the receiver reads from the sender's memory, which is the sender's operation until the handler has run.
  bool is_rendezvous() const noexcept;
  std::size_t inbox_bytes() const noexcept;
  /// It has come to its target's port, and waits for those before it or for a fault's end; nothing in the schedule
  /// stands for it.
  bool at_port() const noexcept { return stage_ == Stage::at_port; }
  /// Takes it in from the port.
  void arrive() noexcept;
  std::span<const std::byte> content() const noexcept;

  void happen() noexcept override;
  std::uint64_t label() const noexcept override;

  SimEnd& from_end;
  SimEnd& to_end;
  std::uint32_t source;
  std::uint32_t target;
  MessageHeader header;
  std::vector<std::byte> payload;  ///< Of a reply, or of a request once it has been read.
  const bool is_reply;
  bool has_room = false;  ///< In its target's inbox.
  bool doomed = false;    ///< It is lost on its way, and goes when its time comes.

 private:
  enum class Stage : std::uint8_t { waits, read, sent, reaches, at_port, arrives, told };
  void read_source() noexcept;

  const std::size_t bytes_;
  Stage stage_ = Stage::waits;
  std::uint64_t sent_ns_ = 0;
  std::uint64_t reach_ns_ = 0;
};

/// The messages for one rank: those that are in, and those that wait at their senders until there is room.
struct Inbox {
  explicit Inbox(std::size_t bytes) noexcept : room_bytes(bytes) {}

  /// True when a message of `source` waits: a later one of it must not overtake that.
  bool waits(std::uint32_t source) const noexcept {
    for (const auto& message : waiting)
      if (message->source == source) return true;
    return false;
  }
  bool take_room(SimMessage& message) noexcept {
    if (message.inbox_bytes() > room_bytes) return false;
    room_bytes -= message.inbox_bytes();
    message.has_room = true;
    return true;
  }
  void give_back_room(SimMessage& message) noexcept {
    if (std::exchange(message.has_room, false)) room_bytes += message.inbox_bytes();
  }

  std::deque<std::unique_ptr<SimMessage>> arrived;
  std::deque<std::unique_ptr<SimMessage>> waiting;
  std::size_t room_bytes;  ///< What is neither taken by messages that are in nor by those under way.
};

class SimTransport;

/// Those of all ranks of a job, by rank.
using SimTransports = std::vector<SimTransport*>;

class SimTransport final : public Transport, public SimEnd {
 public:
  /// Enters itself in `all`, which must have room for all ranks, and outlive it.
  SimTransport(Nature& nature, SimTransports& all, Rank& rank) noexcept;

  const char* name() const noexcept override { return "sim"; }
  TransportTraits traits() const noexcept override;
  TransportTraits traits_to(std::uint32_t peer) const noexcept override;
  void submit(Operation& operation) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return nature_.model().eager_bytes_max; }
  std::size_t in_flight() const noexcept override { return in_flight_.size(); }
  void peer_lost(std::uint32_t peer) noexcept override;
  void wake(std::uint32_t peer) noexcept override;
  bool poll() noexcept override;
  std::uint64_t occupy(Scheduler&, std::uint64_t duration_ns) noexcept override {
    return nature_.engage(id(), duration_ns);
  }

  // --- for what is on its way ---
  void pump(std::uint32_t target) noexcept override;
  void accept(std::unique_ptr<SimMessage> message) noexcept override;
  bool depends_on(std::uint32_t peer) noexcept override;

  // --- for its rank, and the job ---
  void look_around() { detector_.look(); }
  /// This rank's peers are reached by `devices` in place of this, which goes on to watch over them.
  void leave_to(tca::TcaTransport& devices) noexcept { devices_ = &devices; }
  /// This rank has died: nobody is left to be told of its operations, and its messages go as far as they can.
  void die() noexcept;
  /// pump() for all targets, after a change of what is blocked.
  void pump_all() noexcept;
  /// The job is over: deletes the messages at ports. The schedule, which must still be there, has the others.
  void forget_messages() noexcept;

 private:
  SimTransport& transport_of(std::uint32_t rank) const noexcept { return *all_[rank]; }
  void orphan(Transit& transit) noexcept;
  void cut_off(std::uint32_t target) noexcept;
  void cut_off(std::uint32_t target, Inbox& inbox, bool replies) noexcept;
  void hold_up(std::uint32_t target) noexcept;
  void refuse(std::unique_ptr<SimMessage> message) noexcept;

  std::error_code check(const Operation& operation) const noexcept;
  void post(std::unique_ptr<SimMessage> message) noexcept;
  Inbox& inbox_for(const SimMessage& message) noexcept { return message.is_reply ? replies_ : requests_; }
  bool take(Inbox& inbox) noexcept;
  void feed_waiting(Inbox& inbox) noexcept;

  SimTransports& all_;
  std::vector<Operation*> unfinished_;  // of a rank that came to no end: it stays in memory, with all that it leads to
  std::size_t waiting_replies_ = 0;     // of this rank, at their targets; until they are under way no request is taken
  Inbox requests_;
  Inbox replies_;
  FailureDetector detector_{*this};
  tca::TcaTransport* devices_ = nullptr;
};

}  // namespace coracle::internals::sim
