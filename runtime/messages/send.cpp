// What becomes of a message when its send is awaited.
#include "runtime/messages/send.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/message_events.hpp"

namespace coracle::internals {

struct Send::SlowPath {
  std::optional<Task<>> offer;
  std::vector<std::byte> packed;  // where there was no slot for it
};

Send::Send(Messages& messages, const Envelope& envelope, const MessageSource& source, RankCore& core,
           std::uint32_t peer)
    : messages_(messages), envelope_(envelope), source_(source), request_(core, peer) {
  request_.local = const_cast<std::byte*>(source.origin());
  request_.bytes = source.bytes();
  request_.header.handler = messages.data_handler();
  request_.header.argument_count = 2;
  request_.header.arguments[0] = envelope.place();
  request_.header.arguments[1] = envelope.tag;
}

void Send::EndDetour::operator()(SlowPath* detour) const noexcept {
  delete detour;
}

bool Send::await_ready() {
  const auto peer = static_cast<std::uint32_t>(request_.peer());
  // What lies on a GPU stays there until the receiver says where it is to go.
  const bool at_once = !messages_.on_device(source_) && messages_.may_go_at_once(peer, source_.bytes());
  if (messages_.events() != nullptr && at_once) [[unlikely]]
    begin_telling();
  if (at_once && !messages_.needs_buffer(peer, source_)) [[likely]]
    return request_.await_ready();
  return begin(peer, at_once);
}

bool Send::begin(std::uint32_t peer, bool at_once) {
  RendezvousSends& sends = messages_.sends();
  if (!at_once) {
    slow_path_.reset(new SlowPath);
    const bool is_short = !messages_.on_device(source_) && messages_.is_short(source_.bytes());
    offer_ = &slow_path_->offer.emplace(sends.offer(envelope_, source_, peer, is_short));
    offer_->awaited_at(request_.where());
    return false;
  }
  const std::size_t bytes = source_.bytes();
  std::byte* packed = messages_.rank().core().transport_to(peer).payload_room(bytes);
  if (packed == nullptr && bytes <= BounceBuffers::kBufferBytes) {
    buffer_ = sends.bounce_buffers().try_take_for_packed();
    packed = buffer_.data();
  }
  // What lies in one piece the transport copies, or has read where it lies.
  if (packed == nullptr && !source_.is_scattered()) return request_.await_ready();
  if (packed == nullptr) {
    slow_path_.reset(new SlowPath);
    slow_path_->packed.resize(bytes);
    packed = slow_path_->packed.data();
  }
  read_part(source_, 0, {packed, bytes});
  request_.local = packed;
  request_.bytes = bytes;
  return request_.await_ready();
}

[[gnu::cold]] void Send::begin_telling() {
  is_told_ = true;
  number_ = tell_of_send(*messages_.events(), envelope_, static_cast<std::uint32_t>(request_.peer()), source_.bytes());
}

[[gnu::cold]] void Send::end_telling() noexcept {
  tell_of_end(*messages_.events(), CORACLE_SEND_END, static_cast<std::uint32_t>(request_.peer()), number_);
}

}  // namespace coracle::internals
