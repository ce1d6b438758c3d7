// SimEnd: one rank's end of the ways between the ranks of a simulated job: what of it is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

#include "runtime/job/address_map.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/sim/nature.hpp"
#include "transports/sim/traveler.hpp"

namespace coracle::internals::sim {

struct Parcel;

/// What is on its way knows the ends by this.
class SimEnd {
 public:
  SimEnd(Nature& nature, Rank& rank) : nature_(nature), rank_(rank), memory_(nature.region(), true, true) {}
  SimEnd(const SimEnd&) = delete;
  SimEnd& operator=(const SimEnd&) = delete;

  Nature& nature() noexcept { return nature_; }
  std::uint32_t id() const noexcept { return rank_.id(); }
  Rank& rank() noexcept { return rank_; }
  /// All memory of the job.
  const AddressMap& memory() const noexcept { return memory_; }

  /// When the first byte of what leaves here at `out_ns` reaches `peer`; after all that keeps order with it.
  std::uint64_t reach_ns(std::uint32_t peer, std::uint64_t out_ns, bool keeps_order) noexcept;
  /// `traveler` carries out an operation of this rank.
  void take_off(Traveler& traveler, Operation& operation) noexcept;
  /// The operation that a traveler carries out has ended.
  void complete(Traveler& traveler, std::error_code outcome) noexcept;
  /// A message to `target` has left; it will get to its target's port in time, and in when all before it are.
  void set_out(std::uint32_t target, Parcel& parcel) noexcept { ways_[target].under_way.push_back(&parcel); }
  void has_arrived(std::uint32_t target, Parcel& parcel) noexcept;

  /// Lets in what is at the port of `target`.
  virtual void pump(std::uint32_t target) noexcept = 0;
  /// A message is in.
  virtual void accept(std::unique_ptr<Parcel> parcel) noexcept = 0;
  /// Whether something here would end with the loss of `peer`.
  virtual bool depends_on(std::uint32_t peer) noexcept = 0;

 protected:
  ~SimEnd() = default;

  /// Messages of this rank to one peer.
  struct MessageWay {
    std::vector<Parcel*> under_way;  // in order; the first `entering` of them are being taken in
    std::size_t entering = 0;
    std::uint64_t last_reach_ns = 0;  // of what keeps order
  };

  Operation* land(Traveler& traveler) noexcept;

  Nature& nature_;
  Rank& rank_;
  AddressMap memory_;
  std::vector<Traveler*> in_flight_;          // that carry out operations
  std::map<std::uint32_t, MessageWay> ways_;  // by peer
};

}  // namespace coracle::internals::sim
