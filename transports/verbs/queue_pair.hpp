// QueuePair: a reliable connection to one peer. Work requests gather in a chain that is posted with one doorbell, and
// only the last of a chain is signalled: its completion completes those before it.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "transports/verbs/buffers.hpp"
#include "transports/verbs/port.hpp"

namespace coracle::internals::verbs {

struct RdmaTransfer;

/// What the peer must know to connect to this side and to reach this rank's segment. Travels as bytes.
struct QueuePairAddress {
  std::uint32_t queue_pair;
  std::uint32_t first_packet;
  std::array<std::uint8_t, 16> gid;
  std::uint64_t segment_address;
  std::uint32_t segment_key;
  std::uint16_t lid;
  std::uint8_t mtu;
  std::uint8_t reads_max;       ///< RDMA reads and atomics that this side answers at a time.
  std::uint8_t device_atomics;  ///< 1: the device's atomics are atomic against this machine's processors.
  std::array<std::uint8_t, 7> unused;
};

/// What a posted work request was, for when it completes.
struct PostedRequest {
  std::uint32_t slot = BufferPool::kNone;  ///< Of a message.
  RdmaTransfer* transfer = nullptr;        ///< Of a part.
};

class QueuePair {
 public:
  static constexpr std::uint32_t kDepth = 128;  // work requests that may be in transfer
  static constexpr std::uint32_t kChainMax = 16;
  static constexpr std::uint32_t kInlineBytesRequested = 220;
  static constexpr std::uint8_t kRetriesMax = 6;  // 7 would mean for ever to some devices

  /// Throws Error.
  QueuePair(const Port& port, ibv_cq* completions, ibv_srq* receives);

  std::uint32_t number() const noexcept { return number_; }
  std::uint32_t inline_bytes_max() const noexcept { return inline_bytes_max_; }
  /// Fills in what concerns the connection.
  void introduce(const Port& port, QueuePairAddress& address) const noexcept;
  /// Ready to receive and to send. `timeout`: of an acknowledgement, 4.096 us * 2^timeout. 0 or errno.
  int connect(const Port& port, const QueuePairAddress& peer, std::uint8_t timeout) noexcept;

  bool has_room() const noexcept { return tail_ - head_ < kDepth; }
  /// Nothing is with the device.
  bool idle() const noexcept { return posted_ == head_; }
  bool has_unposted() const noexcept { return tail_ != posted_; }
  /// Appends to the chain, of which there must be room; wr_id, next and the scatter list are set here. `piece` may be
  /// null. Posts when the chain is full.
  void add(const ibv_send_wr& request, const ibv_sge* piece, const PostedRequest& sent) noexcept;
  void post() noexcept;
  /// errno of a post that failed: then only abandon() is left.
  int error() const noexcept { return error_; }

  /// A completion has come: tells `each(sent, outcome)` of all that it completes.
  template <class Each>
  void complete(std::uint64_t position, std::error_code outcome, Each&& each) {
    while (head_ <= position) {
      const PostedRequest sent = record(head_);
      each(sent, head_++ == position ? outcome : std::error_code());
    }
  }
  /// Ends the queue pair, so that the device touches no buffer any more, and tells `each(sent)` of all that had not
  /// completed. Completions that come nevertheless name a queue pair that is no more.
  template <class Each>
  void abandon(Each&& each) {
    pair_.reset();
    if (error_ == 0) error_ = ECONNRESET;
    posted_ = tail_;
    while (head_ != tail_) each(PostedRequest(record(head_++)));
  }

 private:
  PostedRequest& record(std::uint64_t position) noexcept { return records_[position % kDepth]; }

  std::uint32_t inline_bytes_max_ = 0;  // known when pair_ has been made
  RawQueuePair pair_;
  std::uint32_t number_ = 0;
  std::uint32_t first_packet_;
  int error_ = 0;
  // Positions count work requests: completed before head_, with the device before posted_, in the chain before tail_.
  std::uint64_t head_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t tail_ = 0;
  std::array<PostedRequest, kDepth> records_;
  std::array<ibv_send_wr, kChainMax> chain_;
  std::array<ibv_sge, kChainMax> pieces_;
};

}  // namespace coracle::internals::verbs
