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

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/sim/nature.hpp"
#include "transports/sim/sim_end.hpp"
#include "transports/sim/sim_message.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::sim {

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
