// Handlers of the main program, where the library is a shared one; and replies.
#include "runtime/rank/message.hpp"

#include <algorithm>

#include "runtime/core/assert.hpp"

namespace coracle::internals {

HandlerId HandlerId::in_program(Code code) noexcept {
  const ProgramModule& program = program_module();
  const std::ptrdiff_t offset = reinterpret_cast<const char*>(code) - program.start;
  if (!program.holds_code(offset)) return {};
  return HandlerId(kInProgram | std::int64_t{program.digest} << kDigestShift | offset);
}

std::ptrdiff_t HandlerId::offset_in_program() const noexcept {
  return offset_ & ((std::int64_t{1} << kDigestShift) - 1);
}

bool HandlerId::is_in_program() const noexcept {
  if (offset_ < kInProgram) return false;
  const ProgramModule& program = program_module();
  return (offset_ ^ kInProgram) >> kDigestShift == program.digest && program.holds_code(offset_in_program());
}

HandlerId::Code HandlerId::code_in_program() const noexcept {
  CORACLE_ASSERT(is_in_program(), "a peer calls a function of its program, which is not the one that runs here");
  return reinterpret_cast<Code>(reinterpret_cast<std::uintptr_t>(program_module().start + offset_in_program()));
}

void Message::reply(Handler handler, std::span<const std::byte> payload,
                    std::initializer_list<std::uint64_t> arguments) const {
  CORACLE_ASSERT(arguments.size() <= MessageHeader::kArgumentsMax, "a reply of {} arguments", arguments.size());
  CORACLE_ASSERT(payload.size() <= replies_.reply_bytes_max(), "a reply of {} bytes; at most {}", payload.size(),
                 replies_.reply_bytes_max());
  MessageHeader header;
  header.handler = HandlerId::of(handler);
  CORACLE_ASSERT(header.handler.valid(), "the reply's handler is part neither of the main program nor of Coracle");
  header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), header.arguments.begin());
  replies_.reply(source_, header, payload);
}

std::size_t Message::reply_bytes_max() const noexcept {
  return replies_.reply_bytes_max();
}

}  // namespace coracle::internals
