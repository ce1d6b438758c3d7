// Stage: the buffers of one rank through which messages go in pieces, packed by the sender and read by the receiver.
// They fit into a core's own cache, so that what one side has written the other finds there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

class Stage;

/// A buffer on loan; goes back when it dies. Empty: none.
class [[nodiscard]] StageSlot {
 public:
  StageSlot() = default;
  StageSlot(Stage& stage, std::byte* data) noexcept : stage_(&stage), data_(data) {}
  StageSlot(StageSlot&& other) noexcept : stage_(other.stage_), data_(std::exchange(other.data_, nullptr)) {}
  StageSlot& operator=(StageSlot&& other) noexcept {
    std::swap(stage_, other.stage_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~StageSlot();

  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Of Stage::kSlotBytes.
  std::byte* data() const noexcept { return data_; }

 private:
  Stage* stage_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Its rank's thread only.
class Stage {
 public:
  static constexpr std::size_t kSlotBytes = 32 * 1024;
  static constexpr std::size_t kBytes = JobRegion::kStageBytes;
  static constexpr std::size_t kSlots = kBytes / kSlotBytes;

  /// `memory`: kBytes that peers can read, or null: then the stage takes memory of its own, when it is first used.
  explicit Stage(std::byte* memory) noexcept : memory_(memory) {}

  StageSlot try_take() {
    if (!made_) [[unlikely]]
      make();
    if (free_.empty()) return {};
    std::byte* data = free_.back();
    free_.pop_back();
    return {*this, data};
  }
  /// Waits for a buffer.
  Task<StageSlot> take() {
    for (;;) {
      if (StageSlot slot = try_take()) co_return slot;
      freed_.reset();
      co_await uninterrupted(freed_);
    }
  }

 private:
  friend class StageSlot;

  void make() {
    if (memory_ == nullptr) {
      own_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
      memory_ = own_.get();
    }
    free_.reserve(kSlots);
    // The one that was given back last is taken first: it is the warmest.
    for (std::size_t slot = kSlots; slot-- > 0;) free_.push_back(memory_ + slot * kSlotBytes);
    made_ = true;
  }
  void give_back(std::byte* data) noexcept {
    free_.push_back(data);  // never more than were reserved
    freed_.set();
  }

  std::byte* memory_;
  std::unique_ptr<std::byte[]> own_;
  std::vector<std::byte*> free_;
  Event freed_;
  bool made_ = false;
};

inline StageSlot::~StageSlot() {
  if (data_ != nullptr) stage_->give_back(data_);
}

}  // namespace coracle::internals
