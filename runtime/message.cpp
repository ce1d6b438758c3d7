// Common addresses of handlers, and replies.
#include "runtime/message.hpp"

#include <algorithm>

#include "runtime/transport.hpp"

// Laid down by the linker: start of the main program's image and end of its code.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace coracle {

HandlerId HandlerId::of_code(Code code) noexcept {
  return HandlerId(reinterpret_cast<const char*>(code) - &__executable_start);
}

bool HandlerId::valid() const noexcept {
  return offset_ > 0 && offset_ < &etext - &__executable_start;
}

HandlerId::Code HandlerId::code() const noexcept {
  return reinterpret_cast<Code>(reinterpret_cast<std::uintptr_t>(&__executable_start + offset_));
}

void Message::reply(Handler handler, std::span<const std::byte> payload,
                    std::initializer_list<std::uint64_t> arguments) const {
  CORACLE_ASSERT(arguments.size() <= MessageHeader::kArgumentsMax, "a reply of {} arguments", arguments.size());
  CORACLE_ASSERT(payload.size() <= transport_.reply_bytes_max(), "a reply of {} bytes; at most {}", payload.size(),
                 transport_.reply_bytes_max());
  MessageHeader header;
  header.handler = HandlerId::of(handler);
  CORACLE_ASSERT(header.handler.valid(), "the reply's handler is not part of the main program");
  header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), header.arguments.begin());
  transport_.reply(source_, header, payload);
}

}  // namespace coracle
