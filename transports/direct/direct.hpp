// The direct transport: peers in the same address space, or with segments in shared memory. Put and get are copies made
// by whoever asks (RankCore does them without even coming here); messages go through the peer's inbox.
//
// Source: Shimada, Hori, Ishikawa (IPSJ 2015): eager messages through per-process queues; larger ones by rendezvous, in
// which the receiver reads straight from the sender's buffer: no copy at all here, since the handler gets that buffer.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <system_error>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/direct/buffered_sends.hpp"
#include "transports/direct/node_losses.hpp"
#include "transports/direct/piggyback_buffers.hpp"
#include "transports/direct/ring.hpp"

namespace coracle::internals::direct {

/// Does a put, a get or an atomic that RankCore could not do by load and store: with a bad address, memory of another
/// process, which the kernel copies (but does no atomics: Errc::unsupported), or some that its owner may withdraw
/// meanwhile.
void transfer(Rank& rank, Operation& operation) noexcept;

/// Where a rank receives messages from the peers that share memory with it. Two rings: requests, and replies, which are
/// always consumed, so that two ranks with full request rings still free each other. Lies in the job's region; all zero
/// is its initial state. Behind it: one bit per rank, "rings me when there is room".
struct Inbox {
  Ring requests;
  Ring replies;
  alignas(kLineBytes) std::array<std::byte, BufferedSends::kBytes> buffered;  ///< Of this rank's own requests.
  alignas(kLineBytes) Writing writing;  ///< What this rank is just writing into a ring of a peer's.

  /// The bits of senders that found a ring full.
  std::atomic<std::uint64_t>* starving() noexcept { return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1); }
};

/// The numbers of rank `rank`'s rings, in Writing.
constexpr std::uint64_t number_of_requests(std::uint32_t rank) noexcept {
  return 2 * std::uint64_t{rank} + 1;
}
constexpr std::uint64_t number_of_replies(std::uint32_t rank) noexcept {
  return 2 * std::uint64_t{rank} + 2;
}

constexpr std::uint64_t starving_words(std::uint32_t ranks) noexcept {
  return (std::uint64_t{ranks} + 63) / 64;
}

/// Bytes that each rank's inbox takes in the job's region (JobShape::inbox_bytes).
constexpr std::uint64_t inbox_bytes(std::uint32_t ranks) noexcept {
  return sizeof(Inbox) + starving_words(ranks) * sizeof(std::uint64_t);
}

/// The inboxes of this node's ranks, as one of these ranks writes to them.
class NodeInboxes {
 public:
  explicit NodeInboxes(Rank& rank);

  Inbox& of(std::uint32_t rank) const noexcept {
    return *reinterpret_cast<Inbox*>(inboxes_ + (rank - first_rank_) * inbox_bytes_);
  }
  void ring(std::uint32_t peer) const noexcept { blocks_[peer - first_rank_].doorbell.ring(); }
  /// What is sent is handed over lightly: see Ring::publish_lightly.
  bool light() const noexcept { return light_; }
  // False where there is no room.
  [[gnu::always_inline]] bool write_request(std::uint32_t peer, EntryType type, const MessageHeader& header,
                                            std::span<const std::byte> payload) noexcept;
  bool write_reply(std::uint32_t peer, EntryType type, const MessageHeader& header,
                   std::span<const std::byte> payload) const noexcept;
  /// This rank has received a message: what it sends next is not in a row with what it has sent before.
  void note_received() noexcept { is_in_a_row_ = false; }
  bool is_in_a_row() const noexcept { return is_in_a_row_; }
  /// This rank waits for room in that ring of the peer's.
  void starve(Ring& ring, std::uint32_t peer) const noexcept;
  /// Rings those who wait for room in this rank's.
  void feed_starving() const noexcept;

 private:
  const JobRegion& region_;
  const std::uint32_t self_;
  const std::uint32_t first_rank_;  // of this node: where the inboxes and blocks begin
  std::byte* const inboxes_;
  const std::uint64_t inbox_bytes_;
  RankBlock* const blocks_;
  const bool light_;
  Writing* const writing_;  // of this rank, where it matters
  bool is_in_a_row_ = false;
};

/// Lines of this rank's rings that dead peers may have reserved, and not filled.
class Holes {
 public:
  Holes(Rank& rank, const NodeInboxes& inboxes);
  /// `peer` has died, perhaps while it wrote to a ring of this rank.
  void note(std::uint32_t peer) noexcept;
  /// True while it can't be told whose lines hold up a ring.
  bool step_over() noexcept { return !holes_.empty() && step_over_some(); }

 private:
  struct Hole {
    Ring* ring;
    std::uint64_t number;
    std::uint64_t begin;
    std::uint64_t end;
  };
  bool anyone_writes_to(std::uint64_t number) const noexcept;
  bool is_disputed(const Hole& hole, std::uint64_t position) const noexcept;
  bool step_over_some() noexcept;

  Rank& rank_;
  const JobRegion& region_;
  const NodeInboxes& inboxes_;
  std::vector<Hole> holes_;
};

class DirectTransport final : public Transport {
 public:
  /// Messages up to this are copied into the inbox. Larger ones are read where they lie by their handler: in a buffered
  /// copy, or in their sender's buffer, and then the sender waits until it has run.
  /// Measured: from here on the copy into the inbox and out of cache lines that change hands costs more than that.
  static constexpr std::size_t kEagerBytesMax = 256;
  /// Messages up to this are buffered. Measured, with buffers that are written to between messages: up to here the copy
  /// costs less than what it saves. Longer ones, up to a buffer's size, while they go to and fro between buffers that
  /// are seen to be written to (PiggybackBuffers): then it saves more still, and else it would cost more. Payloads that
  /// are made in payload_room() are written in any case.
  static constexpr std::size_t kBufferedBytesMax = 2048;
  /// Up to this they go into the inbox while many are sent in a row, or all buffers are taken, and it has room: their
  /// senders go on, and nobody answers. Measured: from here on it takes less time to read them where they lie.
  static constexpr std::size_t kWholeBytesMax = 1024;
  /// Of processes, where the kernel has to fetch what does not lie in memory that all share: up to this such a message
  /// goes into the inbox, or waits for room there. Measured: the kernel takes 3.6 us for each, however short.
  static constexpr std::size_t kUnsharedWholeBytesMax = 8192;
  static constexpr std::size_t kReplyBytesMax = 8192;  // replies are copied always: their makers don't wait

  explicit DirectTransport(Rank& rank);

  const char* name() const noexcept override { return "direct"; }
  TransportTraits traits() const noexcept override;
  void submit(Operation& operation) noexcept override;
  bool send_now(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::byte* payload_room(std::size_t bytes) noexcept override {
    const std::size_t most = piggyback_.are_likely() ? BufferedSends::kBufferBytes : kBufferedBytesMax;
    return bytes > kEagerBytesMax && bytes <= most ? buffered_.free_buffer() : nullptr;
  }
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return kReplyBytesMax; }
  std::size_t in_flight() const noexcept override { return in_flight_; }
  void peer_lost(std::uint32_t peer) noexcept override;
  bool poll() noexcept override;
  void about_to_sleep() noexcept override;

 private:
  /// A reply that found the peer's ring full.
  struct WaitingReply {
    std::uint32_t peer;
    EntryType type;
    MessageHeader header;
    std::vector<std::byte> payload;
  };

  /// Of those above kEagerBytesMax.
  bool is_staged(const RequestOperation& request) noexcept {
    if (request.bytes <= kBufferedBytesMax || buffered_.contains(request.local)) return true;
    return request.bytes <= BufferedSends::kBufferBytes && piggyback_.are_likely() &&
           piggyback_.cold_reads().should_be_copied();
  }
  /// Whether it is copied into the inbox however full that is.
  bool goes_whole(const RequestOperation& request) const noexcept {
    if (request.bytes <= kEagerBytesMax) return true;
    return !shares_memory_ && request.bytes <= kUnsharedWholeBytesMax &&
           !region_.contains(request.local, request.bytes);
  }
  void send_or_queue(RequestOperation& request) noexcept;
  bool send(RequestOperation& request) noexcept;
  /// Into the inbox, payload and all; false when there is no room.
  bool send_whole(RequestOperation& request) noexcept;
  bool send_in_return(RequestOperation& request) noexcept;
  bool send_by_address(RequestOperation& request, EntryType type) noexcept;
  bool send_reply(std::uint32_t peer, EntryType type, const MessageHeader& header,
                  std::span<const std::byte> payload) noexcept;
  bool poll_ring(Ring& ring) noexcept;
  void receive(EntryHeader& entry) noexcept;
  void deliver_in_place(const MessageHeader& header, EntryType type, std::uint32_t source,
                        std::span<const std::byte> payload) noexcept;
  void receive_rendezvous(const MessageHeader& header, EntryType type, std::uint32_t source,
                          std::span<const std::byte> body) noexcept;
  void say_taken(std::uint32_t peer, std::uint64_t operation, int error) noexcept;
  void say_owed() noexcept;
  bool retry() noexcept;

  Rank& rank_;
  const JobRegion& region_;
  NodeInboxes inboxes_;
  Inbox& own_;
  const bool shares_memory_;
  const bool survive_;  // the job goes on when a rank is lost
  Holes holes_;
  NodeLosses losses_;
  BufferedSends buffered_;
  PiggybackBuffers piggyback_;  // whose buffers are told of when there is nothing more urgent to do
  std::size_t in_flight_ = 0;
  bool backlog_ = false;                             // something waits in one of the two below
  std::map<std::uint32_t, OperationQueue> waiting_;  // by peer: requests that found its ring full, in order
  std::deque<WaitingReply> waiting_replies_;
  std::map<std::uint32_t, OperationQueue> lent_;  // by peer, if survive_: rendezvous it has not taken, in order
};

}  // namespace coracle::internals::direct
