// Transport: moves bytes and messages between this rank and its peers. Callers choose by traits, never by type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "runtime/core/scheduler.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals {

/// What a transport is good at. Nominal figures, for choosing; `coracle bench` measures the true ones.
struct TransportTraits {
  double latency_ns;  ///< One way, 8 bytes.
  double bandwidth_bytes_per_ns;
  std::size_t eager_bytes_max;  ///< Larger requests wait until the peer has taken them from the sender's memory.
  bool by_load_store;           ///< Peers' segments are plain memory here: put and get are copies.
  double overhead_ns = 0;       ///< What an operation costs the processor of who starts it; part of the latency.
  double gap_ns = 0;            ///< Least time between two operations.
  double readers = 1;           ///< How many ranks may copy from one of them before they share its bandwidth.
  /// The payload of larger requests is read by its handler where the sender has it; of others it mostly gets a copy.
  std::size_t copied_bytes_max = std::numeric_limits<std::size_t>::max();
};

/// Interface without state. All calls from the loop's thread, all noexcept: failures are outcomes of operations.
class Transport : public Poller, public ReplySender {
 public:
  virtual const char* name() const noexcept = 0;
  virtual TransportTraits traits() const noexcept = 0;
  /// The same towards one peer, where that makes a difference (`sim`).
  virtual TransportTraits traits_to(std::uint32_t) const noexcept { return traits(); }
  /// Takes the operation: it finishes during the call, or later in poll(). Never refuses: when full it queues inside.
  /// The operation and its buffers must live until it has finished.
  virtual void submit(Operation& operation) noexcept = 0;
  /// Sends a request during the call, by a copy of its payload, behind what has been submitted to that peer before; or
  /// gives false, and nothing has happened. Of a short one, where that can be: it needs no operation.
  virtual bool send_now(std::uint32_t, const MessageHeader&, std::span<const std::byte>) noexcept { return false; }
  /// Takes the operation, as submit() does; or gives false, and nothing has happened: the transport has no device that
  /// moves such blocks, or packing them takes less time.
  virtual bool submit_strided(StridedOperation&) noexcept { return false; }
  /// Where a caller that makes a payload of so many bytes can put it, so that it is not copied again: for the request
  /// that is submitted next, with this as `local`. Null: nowhere, now or ever.
  virtual std::byte* payload_room(std::size_t) noexcept { return nullptr; }
  /// Operations that have been taken and have not finished.
  virtual std::size_t in_flight() const noexcept = 0;
  /// Called once for each peer, by Rank::peer_lost: operations in flight to it finish with Errc::peer_lost, now or as
  /// soon as the kernel has let go of their buffers, and what is kept for it goes. No later operation to it comes here;
  /// its messages are dropped by Rank::deliver. Nothing to do for a transport that finishes every operation at once.
  virtual void peer_lost(std::uint32_t) noexcept {}
  /// A rank of this node is to look at its flags. Only asked where doorbells wake nobody (`sim`).
  virtual void wake(std::uint32_t) noexcept {}
  /// Keeps this rank's processor busy for so long, as computation would, and gives the time on `loop`'s clock at which
  /// that is over: it has passed already, unless time is simulated; then nothing of this rank happens until then.
  virtual std::uint64_t occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept {
    const std::uint64_t until_ns = loop.exact_now_ns() + duration_ns;
    while (loop.exact_now_ns() < until_ns) {
    }
    return until_ns;
  }
  /// The program has ended on every rank that lives. Takes leave of the peers; asked again until it is true: done.
  virtual bool leave() noexcept { return true; }
};

}  // namespace coracle::internals
