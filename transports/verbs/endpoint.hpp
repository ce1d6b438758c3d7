// Endpoint: what a rank holds of its RDMA device: its segment and its buffers, registered; the queue of completions,
// and the one for what is received; and how many work requests may still be under way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/verbs/buffers.hpp"
#include "transports/verbs/port.hpp"
#include "transports/verbs/queue_pair.hpp"
#include "transports/verbs/registration_cache.hpp"

namespace coracle::internals::verbs {

class Endpoint {
 public:
  /// `segment`: the rank's own. Throws Error: what the device does not give, or memory that can't be pinned.
  Endpoint(Port port, std::span<std::byte> segment);

  const Port& port() const noexcept { return port_; }
  /// Readable when something has completed after arm().
  int fd() const noexcept { return channel_->fd; }
  RegistrationCache& registrations() noexcept { return registrations_; }
  ReceiveBuffers& landing_places() noexcept { return receive_buffers_; }
  /// For messages, and for small data on its way.
  BufferPool& send_slots() noexcept { return send_slots_; }

  std::span<std::byte> segment() const noexcept { return segment_; }
  const ibv_mr& segment_region() const noexcept { return *segment_region_; }
  bool is_in_segment(const std::byte* begin, std::size_t bytes) const noexcept {
    return begin >= segment_.data() && bytes <= segment_.size() && begin <= segment_.data() + (segment_.size() - bytes);
  }
  /// Our end of a connection; `business` becomes what its peer must know of it. Throws Error.
  std::unique_ptr<QueuePair> make_pair(QueuePairAddress& address);

  bool has_room(const QueuePair& pair) const noexcept { return pair.has_room() && outstanding_ < kOutstandingMax; }
  /// As QueuePair::add; there must be room.
  void add(QueuePair& pair, const ibv_send_wr& request, const ibv_sge* piece, const PostedRequest& sent) noexcept {
    ++outstanding_;
    pair.add(request, piece, sent);
  }
  /// Sends the message in a slot, which is given back when it has left.
  void add_message(QueuePair& pair, std::uint32_t slot, std::size_t bytes) noexcept;
  /// The request is with the device no more.
  void sent(const PostedRequest& what) noexcept {
    --outstanding_;
    if (what.slot != BufferPool::kNone) send_slots_.give_back(what.slot);
  }

  /// What has completed, as much as there is room for.
  std::span<const ibv_wc> poll(std::span<ibv_wc> room) noexcept;
  static bool is_receive(const ibv_wc& completion) noexcept { return (completion.wr_id & kOfReceive) != 0; }
  std::span<const std::byte> message(const ibv_wc& receive) const noexcept {
    return {receive_slots_.data(slot_of(receive)), receive.byte_len};
  }
  /// Its slot may be filled anew.
  void give_back(const ibv_wc& receive) noexcept;
  void post_receives() noexcept;
  /// The next completion is to make fd() readable.
  void arm() noexcept;

 private:
  static constexpr std::uint32_t kReceiveSlots = 256;
  static constexpr std::uint32_t kSendSlots = 256;
  static constexpr std::uint32_t kOutstandingMax = 4096;  // of all queue pairs: the completion queue has room for them
  static constexpr std::uint64_t kOfReceive = std::uint64_t{1} << 63;

  static std::uint32_t slot_of(const ibv_wc& receive) noexcept {
    return static_cast<std::uint32_t>(receive.wr_id & ~kOfReceive);
  }

  Port port_;
  const std::span<std::byte> segment_;
  MemoryRegion segment_region_;
  BufferPool receive_slots_;
  BufferPool send_slots_;
  CompletionChannel channel_;
  CompletionQueue completions_;
  SharedReceiveQueue receives_;
  RegistrationCache registrations_;
  ReceiveBuffers receive_buffers_;
  std::vector<std::uint32_t> receives_to_post_;
  std::uint32_t outstanding_ = 0;
  bool armed_ = false;
};

}  // namespace coracle::internals::verbs
