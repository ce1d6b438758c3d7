// RankCore: what the operations of a rank need on their hot path, apart from the Rank's public face.
#pragma once

#include <cstring>
#include <string>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/job/address_map.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/own_segment.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/routes.hpp"
#include "runtime/rank/signal_wait.hpp"

namespace coracle::internals {

class ExposedPlaces;
class FlagWaits;
class JobRegion;
class LayoutMover;
class ReadExposures;
class MemoryDomain;
class Messages;
class Rank;
class TeamCore;

class RankCore {
 public:
  /// `rank`: whose it is.
  RankCore(Rank& rank, const JobRegion& region, std::uint32_t id, EventLoop& loop);
  ~RankCore();
  RankCore(const RankCore&) = delete;
  RankCore& operator=(const RankCore&) = delete;

  /// To the ranks of this node.
  void set_transport(std::unique_ptr<Transport> transport, bool by_load_store, bool shares_memory);

  /// Starts an operation: finished on return when the peer's memory is reached by load and store.
  void start(Operation& operation) noexcept {
    if (slow_path_ != 0) [[unlikely]]
      return start_slowly(operation);
    if (operation.verb == Operation::Verb::request || !copy_now(operation)) submit(operation);
  }
  /// See Transport::send_now; `peer` must exist.
  bool send_now(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) const noexcept {
    return slow_path_ == 0 && transport_to(peer).send_now(peer, header, payload);
  }
  /// Whether start() will surely have finished it on return.
  bool finishes_at_once(const Operation& operation) const noexcept {
    return (slow_path_ & kLooks) == 0 && addresses_.reach_lasting(operation.remote, operation.bytes) != nullptr &&
           (operation.signal_add == 0 || addresses_.reach_lasting(operation.signal, sizeof(std::uint64_t)) != nullptr);
  }
  [[noreturn]] void throw_failure(const Operation& operation) const;
  /// For a message: why an operation with this outcome has failed, or "".
  std::string describe_failure(std::error_code code, int peer, const RemoteAddress& remote, std::size_t bytes) const;
  /// The same of an operation: of its place, or its signal's, if that is to blame.
  std::string describe_failure(const Operation& operation) const;
  /// From the loop's thread, also from inside submit() and poll(): a peer is lost, for a reason such as "its connection
  /// was reset". Ends every operation in flight to it and every wait that depends on it; tells the transport. Does
  /// nothing the second time.
  void peer_lost(Loss loss);
  /// What a transport does with a message that has come.
  void deliver(const MessageHeader& header, const Message& message) noexcept {
    if (peers_.lost(message.source())) [[unlikely]]
      return;                                      // what it sends refers to what may be gone
    header.handler.as<Handler>()(rank_, message);  // checked by the sender, which runs the same program
  }

  /// What this rank has exposed beside its segment.
  ExposedPlaces& exposed_places() noexcept;
  /// The team of all ranks.
  TeamCore& world() const noexcept { return *world_; }
  void set_world(TeamCore& world) noexcept { world_ = &world; }
  /// See Messages::of.
  Messages* messages() const noexcept { return messages_; }
  void set_messages(Messages& messages) noexcept { messages_ = &messages; }
  /// The memory of GPUs, as long as this rank has opened one; else null.
  MemoryDomain* device_memory() const noexcept { return device_memory_; }
  void set_device_memory(MemoryDomain* memory) noexcept {
    device_memory_ = memory;
    set_slow_path(kLooks, memory != nullptr || peers_.any_lost());
  }

  /// Of layouts, where loads and stores do not reach the peer. Given when the rank is made.
  LayoutMover& layout_mover() const noexcept { return *layout_mover_; }
  void set_layout_mover(LayoutMover& mover) noexcept { layout_mover_ = &mover; }

  Peers& peers() noexcept { return peers_; }
  const Peers& peers() const noexcept { return peers_; }
  ReadExposures& read_exposures() noexcept;
  SignalWaits& signal_waits() noexcept { return signal_waits_; }
  FlagWaits& flag_waits() noexcept { return *flag_waits_; }
  /// Wakes a rank of this node that waits for a flag; the flag was raised before, by a seq_cst operation.
  void wake(std::uint32_t rank) noexcept;
  const AddressMap& addresses() const noexcept { return addresses_; }
  OwnSegment& own_segment() noexcept { return own_segment_; }
  const OwnSegment& own_segment() const noexcept { return own_segment_; }
  Routes& routes() noexcept { return routes_; }
  /// The transport to the ranks of this node.
  Transport& transport() const noexcept { return routes_.local(); }
  /// The transport to `rank`, which must exist.
  Transport& transport_to(std::uint32_t rank) const noexcept { return routes_.to(rank); }
  const JobRegion& region() const noexcept { return region_; }
  EventLoop& loop() const noexcept { return loop_; }
  std::uint32_t id() const noexcept { return id_; }
  /// Ranks of the job.
  std::uint32_t size() const noexcept { return size_; }

 private:
  /// Does it by load and store; false when that can't be.
  bool copy_now(Operation& operation) noexcept {
    if (operation.verb == Operation::Verb::put && operation.signal_add == 0) [[likely]] {
      std::byte* target = addresses_.reach_lasting(operation.remote, operation.bytes);
      if (target == nullptr) return false;
      std::memcpy(target, operation.local, operation.bytes);
      operation.finish_at_once();
      return true;
    }
    if (operation.verb == Operation::Verb::get) {
      const std::byte* source = addresses_.reach_lasting(operation.remote, operation.bytes);
      if (source == nullptr) return false;
      std::memcpy(operation.local, source, operation.bytes);
      operation.finish_at_once();
      return true;
    }
    return operation.verb == Operation::Verb::put ? put_and_signal_now(operation) : perform_atomic_now(operation);
  }
  bool put_and_signal_now(Operation& operation) noexcept;
  bool perform_atomic_now(Operation& operation) noexcept;
  void start_slowly(Operation& operation) noexcept;
  void start_looking(Operation& operation) noexcept;
  void submit(Operation& operation) noexcept {
    if (operation.bytes > kObjectBytesMax) [[unlikely]]
      return refuse_length(operation);
    if (routes_.leads_locally(static_cast<std::uint32_t>(operation.peer()))) [[likely]]
      routes_.local().submit(operation);
    else
      submit_remotely(operation);
  }
  void submit_remotely(Operation& operation) noexcept;
  /// Before a transport looks for so many bytes here: only some judge by the target first.
  static void refuse_length(Operation& operation) noexcept;

  /// What is not on the hot path.
  struct Rarely;

  Rank& rank_;
  const JobRegion& region_;
  std::uint32_t id_;
  std::uint32_t size_;
  static constexpr std::uint8_t kLooks = 1;  // a peer is lost, or there is a GPU: operations must be looked at
  static constexpr std::uint8_t kTells = 2;  // a tool is told of operations
  void set_slow_path(std::uint8_t why, bool is_so) noexcept {
    slow_path_ = static_cast<std::uint8_t>(is_so ? slow_path_ | why : slow_path_ & ~unsigned{why});
  }
  std::uint8_t slow_path_ = 0;
  EventLoop& loop_;
  AddressMap addresses_;
  Routes routes_;
  Peers peers_;
  MemoryDomain* device_memory_ = nullptr;
  LayoutMover* layout_mover_ = nullptr;
  SignalWaits signal_waits_;
  OwnSegment own_segment_;
  std::unique_ptr<Rarely> rarely_;
  FlagWaits* flag_waits_;
  TeamCore* world_ = nullptr;
  Messages* messages_ = nullptr;
};

/// The parts of operations on memory at hand, for transports.
namespace local {

/// Whether `place` may be what the atomic of `operation` is about. (Its width is 4 or 8: no division.)
inline bool is_aligned(const std::byte* place, const Operation& operation) noexcept {
  return (reinterpret_cast<std::uintptr_t>(place) & (operation.width - 1U)) == 0;
}
/// Performs the atomic of `operation` on `place`, which is aligned for it, and stores the old value in its result.
void perform_atomic(Operation& operation, std::byte* place) noexcept;
/// Adds to the counter at `place` after everything this thread has written, and wakes the owner of `doorbell`.
void raise_signal(std::byte* place, std::uint64_t add, Doorbell& doorbell) noexcept;

}  // namespace local

}  // namespace coracle::internals
