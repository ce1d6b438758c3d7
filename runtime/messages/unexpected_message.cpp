#include "runtime/messages/unexpected_message.hpp"

namespace coracle::internals {

void DropUnexpected::operator()(UnexpectedMessage* message) const noexcept {
  const std::size_t bytes = sizeof(UnexpectedMessage) + (message->is_offer_ ? 0 : message->bytes_);
  message->~UnexpectedMessage();
  FramePool::release(message, bytes);
}

}  // namespace coracle::internals
