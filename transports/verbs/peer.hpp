// What the verbs transport holds for each peer and for each transfer under way.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"
#include "transports/verbs/buffers.hpp"
#include "transports/verbs/queue_pair.hpp"
#include "transports/verbs/registration_cache.hpp"
#include "transports/verbs/wire.hpp"

namespace coracle::internals::verbs {

struct Peer;

inline constexpr std::uint64_t kNoTicket = ~std::uint64_t{0};

/// A put, a get, an atomic by the device, or the fetching of an offered payload: some work requests in a row.
struct RdmaTransfer {
  /// How the target learns of a put's end.
  enum class Signal : std::uint8_t { none, immediate, message };

  Peer* peer = nullptr;
  Operation* operation = nullptr;  ///< Null when a payload is fetched.
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  Signal signal = Signal::none;
  bool send_inline = false;
  bool all_posted = false;
  std::uint32_t immediate = 0;
  std::uint32_t parts_out = 0;
  std::byte* local = nullptr;
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote = 0;
  std::size_t bytes = 0;
  std::size_t posted_bytes = 0;
  std::uint32_t slot = BufferPool::kNone;  ///< Small data is copied through one.
  Registration* registration = nullptr;
  std::uint64_t ticket = kNoTicket;  ///< Of memory that the peer has granted.
  std::error_code outcome;
  // A payload that is fetched, and where it goes.
  std::unique_ptr<RegisteredBuffer> landing;
  MessageHeader header;
};

struct Peer {
  enum class State : std::uint8_t {
    absent,
    connecting,
    ready,
    elsewhere,  ///< It has no RDMA: the control transport does everything.
    lost,
  };

  std::uint32_t rank = 0;
  State state = State::absent;
  bool introduced = false;  ///< Our address is on its way.
  bool connected = false;   ///< We have the peer's, and the queue pair is ready.
  bool said_bye = false;
  bool told_bye = false;  ///< By this rank.
  bool stalled = false;   ///< In the list of those that wait for room.
  bool dirty = false;     ///< In the list of those with something to post.
  bool urgent = false;
  QueuePairAddress address{};
  std::unique_ptr<QueuePair> pair;
  std::error_code reason;  ///< Why it was lost.

  std::deque<std::vector<std::byte>> messages;  ///< Encoded; they found no room.
  std::deque<RdmaTransfer*> unposted;           ///< Their remaining parts found no room.
  OperationQueue transfers;
  OperationQueue requests;
  /// The request whose payload the peer is fetching. Those behind it wait, which keeps their order.
  RequestOperation* offered = nullptr;
  Registration* offered_memory = nullptr;

  std::uint32_t awaited = 0;   ///< Answers that the peer owes us.
  std::uint64_t heard_ns = 0;  ///< When something came from it.
};

/// What surrounds the parts of the transport: the whole.
class PeerHost {
 public:
  virtual void finish(Operation& operation, std::error_code outcome) noexcept = 0;
  /// The control transport does it instead.
  virtual void hand_over(Operation& operation) noexcept = 0;
  /// For ever: everything to the peer fails from now on.
  virtual void lose(Peer& peer, const char* why, std::error_code code = Errc::peer_lost) noexcept = 0;
  /// There may be room, or something to send.
  virtual void pump(Peer& peer) noexcept = 0;
  /// The peer owes one more answer: its silence is watched.
  virtual void await_answer(Peer& peer) noexcept = 0;
  /// Runs the message's handler.
  virtual void deliver(Peer& peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~PeerHost() = default;
};

}  // namespace coracle::internals::verbs
