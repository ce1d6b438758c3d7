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
#include <map>
#include <memory>
#include <vector>

#include "runtime/address_map.hpp"
#include "runtime/rank.hpp"
#include "runtime/transport.hpp"
#include "transports/sim/doubts.hpp"
#include "transports/sim/inbox.hpp"
#include "transports/sim/world.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::sim {

class SimTransport final : public Transport {
 public:
  SimTransport(World& world, Rank& rank) noexcept;

  const char* name() const noexcept override { return "sim"; }
  TransportTraits traits() const noexcept override;
  TransportTraits traits_to(std::uint32_t peer) const noexcept override;
  void submit(Operation& operation) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return world_.model().eager_bytes_max; }
  std::size_t in_flight() const noexcept override { return in_flight_.size(); }
  void peer_lost(std::uint32_t peer) noexcept override;
  void wake(std::uint32_t peer) noexcept override;
  bool poll() noexcept override;
  std::uint64_t occupy(EventLoop&, std::uint64_t duration_ns) noexcept override {
    return world_.engage(id(), duration_ns);
  }

  // --- for what is on its way ---
  World& world() noexcept { return world_; }
  std::uint32_t id() const noexcept { return rank_.id(); }
  Rank& rank() noexcept { return rank_; }
  /// Whether something here would end with the loss of `peer`.
  bool depends_on(std::uint32_t peer) noexcept;
  void look_around() { doubts_.look(); }
  /// This rank's peers are reached by `boards` in place of this, which goes on to watch over them.
  void leave_to(tca::TcaTransport& boards) noexcept { boards_ = &boards; }
  /// This rank has died: nobody is left to be told of its operations, and its messages go as far as they can.
  void die() noexcept;
  /// All memory of the job.
  const AddressMap& memory() const noexcept { return memory_; }
  /// When the first byte of what leaves here at `out_ns` reaches `peer`; after all that keeps order with it.
  std::uint64_t reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept;
  /// `traveler` carries out an operation of this rank.
  void take_off(Traveler& traveler, Operation& operation) noexcept;
  /// The operation that a traveler carries out has ended.
  void complete(Traveler& traveler, std::error_code outcome) noexcept;
  /// A message has left; it will get to its target's port in time, and in when all before it are.
  void set_out(Parcel& parcel) noexcept { ways_[parcel.target].under_way.push_back(&parcel); }
  /// Lets in what is at the port of `target`.
  void pump(std::uint32_t target) noexcept;
  /// The same for all, after a change of what is blocked.
  void pump_all() noexcept;
  void has_arrived(Parcel& parcel) noexcept;
  /// The job is over: deletes the messages at ports. The schedule, which must still be there, has the others.
  void forget_messages() noexcept;
  /// A message is in.
  void accept(std::unique_ptr<Parcel> parcel) noexcept;

 private:
  /// Messages of this rank to one peer.
  struct MessageWay {
    std::vector<Parcel*> under_way;  // in order; the first `entering` of them are being taken in
    std::size_t entering = 0;
    std::uint64_t last_reach_ns = 0;  // of what keeps order
  };

  Operation* land(Traveler& traveler) noexcept;
  void orphan(Traveler& traveler) noexcept;
  void cut_off(std::uint32_t target) noexcept;
  void cut_off(std::uint32_t target, Inbox& inbox, bool replies) noexcept;
  void hold_up(std::uint32_t target) noexcept;
  void refuse(std::unique_ptr<Parcel> parcel) noexcept;

  std::error_code check(const Operation& operation) const noexcept;
  void post(std::unique_ptr<Parcel> parcel) noexcept;
  Inbox& inbox_for(const Parcel& parcel) noexcept { return parcel.is_reply ? replies_ : requests_; }
  bool take(Inbox& inbox) noexcept;
  void feed_waiting(Inbox& inbox) noexcept;

  World& world_;
  Rank& rank_;
  AddressMap memory_;
  std::vector<Traveler*> in_flight_;    // that carry out operations
  std::vector<Operation*> unfinished_;  // of a rank that came to no end: it stays in memory, with all that it leads to
  std::size_t waiting_replies_ = 0;     // of this rank, at their targets; until they are under way no request is taken
  Inbox requests_;
  Inbox replies_;
  std::map<std::uint32_t, MessageWay> ways_;  // by peer
  Doubts doubts_{*this};
  tca::TcaTransport* boards_ = nullptr;
};

}  // namespace coracle::internals::sim
