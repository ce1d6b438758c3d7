// SimEnd: one rank's end of the ways between the ranks of a simulated job: what of it is under way, and how it finds
// out that a peer is in trouble.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

#include "runtime/job/address_map.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/sim/faults.hpp"
#include "transports/sim/ground.hpp"
#include "transports/sim/nature.hpp"

namespace coracle::internals::sim {

struct SimMessage;

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
  /// `transit` carries out an operation of this rank.
  void take_off(Transit& transit, Operation& operation) noexcept;
  /// The operation that a transit carries out has ended.
  void complete(Transit& transit, std::error_code outcome) noexcept;
  /// A message to `target` has left; it will get to its target's port in time, and in when all before it are.
  void set_out(std::uint32_t target, SimMessage& message) noexcept { timings_[target].under_way.push_back(&message); }
  void has_arrived(std::uint32_t target, SimMessage& message) noexcept;

  /// Lets in what is at the port of `target`.
  virtual void pump(std::uint32_t target) noexcept = 0;
  /// A message is in.
  virtual void accept(std::unique_ptr<SimMessage> message) noexcept = 0;
  /// Whether something here would end with the loss of `peer`.
  virtual bool depends_on(std::uint32_t peer) noexcept = 0;

 protected:
  ~SimEnd() = default;

  /// Messages of this rank to one peer.
  struct MessageTiming {
    std::vector<SimMessage*> under_way;  // in order; the first `entering` of them are being taken in
    std::size_t entering = 0;
    std::uint64_t last_reach_ns = 0;  // of what keeps order
  };

  Operation* land(Transit& transit) noexcept;

  Nature& nature_;
  Rank& rank_;
  AddressMap memory_;
  std::vector<Transit*> in_flight_;                 // that carry out operations
  std::map<std::uint32_t, MessageTiming> timings_;  // by peer
};

/// A put, get or atomic sets out through the simulated network: an operation that has been found good. It ends by
/// SimEnd::complete().
void start_one_sided(SimEnd& from, Operation& operation) noexcept;

/// How a simulated rank finds out that a peer is in trouble. Only what something here depends on is noticed: at once
/// where a dead process is reached for, and after the silence limit where nothing comes.
class FailureDetector {
 public:
  explicit FailureDetector(SimEnd& of) noexcept : of_(of) {}

  /// To be called when something may have changed: at the end of each turn, and when faults begin or end.
  void look();

 private:
  struct Suspicion {
    Faults::Symptom symptom;
    std::uint64_t number;  // tells it from earlier ones about the same peer
  };
  Faults::Symptom symptom_that_matters(std::uint32_t peer) const noexcept;
  void decide(std::uint32_t peer, std::uint64_t number);

  SimEnd& of_;
  std::map<std::uint32_t, Suspicion> suspicions_;  // by peer
  std::uint64_t last_number_ = 0;
};

}  // namespace coracle::internals::sim
