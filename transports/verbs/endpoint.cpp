#include "transports/verbs/endpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "transports/verbs/wire.hpp"

namespace coracle::internals::verbs {
namespace {

template <class T>
T made(T object, const Port& port, const char* what) {
  if (!object) throw_errno(errno, fmt::format("verbs: {} gives no {}", port.name, what));
  return object;
}

MemoryRegion pin_segment(const Port& port, std::span<std::byte> segment) {
  MemoryRegion region(
      ibv_reg_mr(port.domain.get(), segment.data(), segment.size(),
                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
  if (!region)
    throw_errno(errno,
                fmt::format("verbs: the segment of {} MiB can't be pinned for {}: choose a smaller one (`coracle run "
                            "--segment 64M`) or raise the limit of locked memory (`ulimit -l unlimited`)",
                            segment.size() >> 20, port.name));
  return region;
}

SharedReceiveQueue make_receive_queue(const Port& port, std::uint32_t slots) {
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = slots;
  attributes.attr.max_sge = 1;
  return made(SharedReceiveQueue(ibv_create_srq(port.domain.get(), &attributes)), port, "shared receive queue");
}

void make_nonblocking(int fd) noexcept {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

CompletionChannel make_channel(const Port& port) {
  CompletionChannel channel = made(CompletionChannel(ibv_create_comp_channel(port.context.get())), port, "channel");
  make_nonblocking(channel->fd);
  make_nonblocking(port.context->async_fd);
  return channel;
}

}  // namespace

Endpoint::Endpoint(Port port, std::span<std::byte> segment)
    : port_(std::move(port)),
      segment_(segment),
      segment_region_(pin_segment(port_, segment)),
      receive_slots_(port_.domain.get(), kReceiveSlots, kMessageBytesMax),
      send_slots_(port_.domain.get(), kSendSlots, kMessageBytesMax),
      channel_(make_channel(port_)),
      completions_(made(CompletionQueue(ibv_create_cq(
                            port_.context.get(), std::min<int>(port_.device.max_cqe, kOutstandingMax + kReceiveSlots),
                            nullptr, channel_.get(), 0)),
                        port_, "completion queue")),
      receives_(make_receive_queue(port_, kReceiveSlots)),
      registrations_(port_.domain.get()),
      receive_buffers_(port_.domain.get()) {
  for (std::uint32_t i = 0; i < kReceiveSlots; ++i) receives_to_post_.push_back(receive_slots_.take());
  post_receives();
}

std::unique_ptr<QueuePair> Endpoint::make_pair(QueuePairAddress& address) {
  auto pair = std::make_unique<QueuePair>(port_, completions_.get(), receives_.get());
  pair->introduce(port_, address);
  address.segment_address = reinterpret_cast<std::uint64_t>(segment_.data());
  address.segment_key = segment_region_->rkey;
  address.device_atomics = port_.device.atomic_cap == IBV_ATOMIC_GLOB ? 1 : 0;
  return pair;
}

void Endpoint::add_message(QueuePair& pair, std::uint32_t slot, std::size_t bytes) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  request.send_flags = bytes <= pair.inline_bytes_max() ? static_cast<unsigned>(IBV_SEND_INLINE) : 0;
  const ibv_sge piece{reinterpret_cast<std::uint64_t>(send_slots_.data(slot)), static_cast<std::uint32_t>(bytes),
                      send_slots_.key()};
  add(pair, request, &piece, {.slot = slot});
}

std::span<const ibv_wc> Endpoint::poll(std::span<ibv_wc> room) noexcept {
  const int count = ibv_poll_cq(completions_.get(), static_cast<int>(room.size()), room.data());
  CORACLE_ASSERT(count >= 0, "{}: polling the completion queue failed", port_.name);
  if (count > 0) armed_ = false;
  return room.first(static_cast<std::size_t>(count));
}

void Endpoint::give_back(const ibv_wc& receive) noexcept {
  receives_to_post_.push_back(slot_of(receive));
  if (receives_to_post_.size() >= kReceiveSlots / 4) post_receives();
}

void Endpoint::post_receives() noexcept {
  std::array<ibv_recv_wr, 32> chain;
  std::array<ibv_sge, 32> pieces;
  while (!receives_to_post_.empty()) {
    std::size_t count = 0;
    for (; count < chain.size() && !receives_to_post_.empty(); ++count) {
      const std::uint32_t slot = receives_to_post_.back();
      receives_to_post_.pop_back();
      pieces[count] = {reinterpret_cast<std::uint64_t>(receive_slots_.data(slot)), kMessageBytesMax,
                       receive_slots_.key()};
      chain[count] = {kOfReceive | slot, nullptr, &pieces[count], 1};
      if (count > 0) chain[count - 1].next = &chain[count];
    }
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_srq_recv(receives_.get(), chain.data(), &bad);
    CORACLE_ASSERT(error == 0, "{}: posting receives failed: errno {}", port_.name, error);
  }
}

/// What came before that the loop finds by its last look.
void Endpoint::arm() noexcept {
  if (armed_) return;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
  ibv_async_event event;
  while (ibv_get_async_event(port_.context.get(), &event) == 0) ibv_ack_async_event(&event);
  armed_ = ibv_req_notify_cq(completions_.get(), 0) == 0;
}

}  // namespace coracle::internals::verbs
