// The simulated transport: puts, gets, atomics and messages that take their time by the network model, and that promise
// no more than the interface does: what a program may not rely on goes wrong here, sooner or later, for some seed.
//
//  - No operation finishes at once. The source of a put is read at some moment between its start and its landing, so a
//    buffer that is used again too early is noticed.
//  - A put's signal is raised after its data has landed, perhaps some time after; independent transfers may overtake
//    each other (NetworkModel::reorder). Messages of one rank to another keep their order.
//  - Inboxes are bounded: when one is full, senders wait.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "runtime/address_map.hpp"
#include "runtime/rank.hpp"
#include "runtime/transport.hpp"
#include "transports/sim/inbox.hpp"
#include "transports/sim/world.hpp"

namespace coracle::sim {

class SimTransport final : public Transport {
 public:
  SimTransport(World& world, Rank& rank) noexcept;

  const char* name() const noexcept override { return "sim"; }
  TransportTraits traits() const noexcept override;
  void submit(Operation& operation) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return world_.model().eager_bytes_max; }
  std::size_t in_flight() const noexcept override { return in_flight_; }
  bool poll() noexcept override;

  // --- for what is on its way ---
  World& world() noexcept { return world_; }
  std::uint32_t id() const noexcept { return rank_.id(); }
  /// All memory of the job.
  const AddressMap& memory() const noexcept { return memory_; }
  /// When the first byte of what leaves here at `out_ns` reaches `peer`; after all that keeps order with it.
  std::uint64_t reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept;
  /// An operation of this rank has ended.
  void complete(Operation& operation, std::error_code outcome) noexcept;
  /// A message is in.
  void accept(std::unique_ptr<Parcel> parcel) noexcept;

 private:
  std::error_code check(const Operation& operation) const noexcept;
  void post(std::unique_ptr<Parcel> parcel) noexcept;
  Inbox& inbox_for(const Parcel& parcel) noexcept { return parcel.is_reply ? replies_ : requests_; }
  bool take(Inbox& inbox) noexcept;
  void feed_waiting(Inbox& inbox) noexcept;

  World& world_;
  Rank& rank_;
  AddressMap memory_;
  std::size_t in_flight_ = 0;
  std::size_t waiting_replies_ = 0;  // of this rank, at their targets; until they are under way no request is taken
  Inbox requests_;
  Inbox replies_;
  std::unordered_map<std::uint32_t, std::uint64_t> last_reach_ns_;  // by peer, of what keeps order
};

}  // namespace coracle::sim
