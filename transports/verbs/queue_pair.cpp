// Making, connecting and feeding a queue pair.
#include "transports/verbs/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "runtime/core/error.hpp"

namespace coracle::internals::verbs {
namespace {

constexpr std::uint8_t kReadsMax = 16;
// Not ready for messages: the peer has not turned its loop for a while. It lives, so that this may go on for ever.
constexpr std::uint8_t kReceiverRetriesForEver = 7;
constexpr std::uint8_t kReceiverTimer = 12;  // 0.64 ms

RawQueuePair make_pair_of(const Port& port, ibv_cq* completions, ibv_srq* receives, std::uint32_t& inline_bytes) {
  // Devices differ in how much they take inline: less and less is asked for.
  for (inline_bytes = QueuePair::kInlineBytesRequested;; inline_bytes /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions;
    attributes.srq = receives;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap.max_send_wr = QueuePair::kDepth;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_inline_data = inline_bytes;
    RawQueuePair pair(ibv_create_qp(port.domain.get(), &attributes));
    if (pair) inline_bytes = attributes.cap.max_inline_data;
    if (pair || inline_bytes == 0) return pair;
  }
}

int make_ready_to_receive(ibv_qp* pair, const Port& port, const QueuePairAddress& peer) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu =
      static_cast<ibv_mtu>(std::min<std::uint8_t>(peer.mtu, static_cast<std::uint8_t>(port.attributes.active_mtu)));
  attributes.dest_qp_num = peer.queue_pair;
  attributes.rq_psn = peer.first_packet;
  attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min<int>(port.device.max_qp_rd_atom, kReadsMax));
  attributes.min_rnr_timer = kReceiverTimer;
  attributes.ah_attr.port_num = port.number;
  attributes.ah_attr.dlid = peer.lid;
  constexpr std::size_t kPrefixBytes = 8;  // of the subnet
  attributes.ah_attr.is_global = port.ethernet() || std::memcmp(peer.gid.data(), port.gid.raw, kPrefixBytes) != 0;
  std::memcpy(attributes.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(port.gid_index);
  attributes.ah_attr.grh.hop_limit = 64;
  return ibv_modify_qp(pair, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int make_ready_to_send(ibv_qp* pair, const Port& port, const QueuePairAddress& peer, std::uint32_t first_packet,
                       std::uint8_t timeout) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = timeout;
  attributes.retry_cnt = QueuePair::kRetriesMax;
  attributes.rnr_retry = kReceiverRetriesForEver;
  attributes.sq_psn = first_packet;
  attributes.max_rd_atomic =
      static_cast<std::uint8_t>(std::min<int>({port.device.max_qp_init_rd_atom, kReadsMax, peer.reads_max}));
  return ibv_modify_qp(
      pair, &attributes,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

QueuePair::QueuePair(const Port& port, ibv_cq* completions, ibv_srq* receives)
    : pair_(make_pair_of(port, completions, receives, inline_bytes_max_)),
      first_packet_(std::random_device{}() & 0xffffff) {
  if (!pair_) throw_errno(errno, fmt::format("verbs: {} gives no queue pair", port.name));
  number_ = pair_->qp_num;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port.number;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  const int error =
      ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) throw_errno(error, fmt::format("verbs: {} port {} refuses a queue pair", port.name, port.number));
}

void QueuePair::introduce(const Port& port, QueuePairAddress& address) const noexcept {
  address.queue_pair = number();
  address.first_packet = first_packet_;
  std::copy(std::begin(port.gid.raw), std::end(port.gid.raw), address.gid.begin());
  address.lid = port.attributes.lid;
  address.mtu = static_cast<std::uint8_t>(port.attributes.active_mtu);
  address.reads_max = static_cast<std::uint8_t>(std::min<int>(port.device.max_qp_rd_atom, kReadsMax));
}

int QueuePair::connect(const Port& port, const QueuePairAddress& peer, std::uint8_t timeout) noexcept {
  const int error = make_ready_to_receive(pair_.get(), port, peer);
  return error != 0 ? error : make_ready_to_send(pair_.get(), port, peer, first_packet_, timeout);
}

void QueuePair::add(const ibv_send_wr& request, const ibv_sge* piece, const PostedRequest& sent) noexcept {
  CORACLE_ASSERT(has_room(), "{} work requests in transfer", tail_ - head_);
  if (error_ == 0 && tail_ - posted_ == kChainMax) post();
  record(tail_) = sent;
  if (error_ == 0) {
    const std::uint64_t place = tail_ - posted_;
    ibv_send_wr& copy = chain_[place] = request;
    copy.wr_id = tail_;
    copy.next = nullptr;
    copy.num_sge = piece == nullptr ? 0 : 1;
    copy.sg_list = &pieces_[place];
    if (piece != nullptr) pieces_[place] = *piece;
    if (place > 0) chain_[place - 1].next = &copy;
  }
  ++tail_;
}

void QueuePair::post() noexcept {
  if (tail_ == posted_ || error_ != 0) return;
  chain_[tail_ - posted_ - 1].send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  error_ = ibv_post_send(pair_.get(), chain_.data(), &bad);
  posted_ = tail_;
}

}  // namespace coracle::internals::verbs
