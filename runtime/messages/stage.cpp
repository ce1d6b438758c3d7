#include "runtime/messages/stage.hpp"

namespace coracle::internals {

void StageSlot::give_back() noexcept {
  stage_->give_back(data_);
}

Task<StageSlot> Stage::take() {
  for (;;) {
    if (StageSlot slot = try_take()) co_return slot;
    freed_.reset();
    co_await uninterrupted(freed_);
  }
}

void Stage::make() {
  if (memory_ == nullptr) {
    own_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
    memory_ = own_.get();
  }
  free_.reserve(kSlots);
  // The one that was given back last is taken first: it is the warmest.
  for (std::size_t slot = kSlots; slot-- > 0;) free_.push_back(memory_ + slot * kSlotBytes);
  made_ = true;
}

}  // namespace coracle::internals
