#include "runtime/messages/bounce_buffers.hpp"

namespace coracle::internals {

void BounceBuffer::give_back() noexcept {
  of_->give_back(data_);
}

Task<BounceBuffer> BounceBuffers::take() {
  for (;;) {
    if (BounceBuffer slot = try_take()) co_return slot;
    freed_.reset();
    co_await uninterrupted(freed_);
  }
}

void BounceBuffers::make() {
  if (memory_ == nullptr) {
    own_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    memory_ = own_.get();
  }
  free_.reserve(kBuffers);
  // The one that was given back last is taken first: it is the warmest.
  for (std::size_t slot = kBuffers; slot-- > 0;) free_.push_back(memory_ + slot * kBufferBytes);
  made_ = true;
}

}  // namespace coracle::internals
