// Replies.
#include "runtime/rank/message.hpp"

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals {

void Message::reply(Handler handler, std::span<const std::byte> payload,
                    std::initializer_list<std::uint64_t> arguments) const {
  CORACLE_ASSERT(arguments.size() <= MessageHeader::kArgumentsMax, "a reply of {} arguments", arguments.size());
  CORACLE_ASSERT(payload.size() <= replies_.reply_bytes_max(), "a reply of {} bytes; at most {}", payload.size(),
                 replies_.reply_bytes_max());
  MessageHeader header;
  header.handler = HandlerId::of(handler);
  CORACLE_ASSERT(header.handler.valid(), "the reply's handler is not part of the main program");
  header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), header.arguments.begin());
  replies_.reply(source_, header, payload);
}

std::size_t Message::reply_bytes_max() const noexcept {
  return replies_.reply_bytes_max();
}

}  // namespace coracle::internals
