// Stage: the buffers of one rank through which messages go in pieces, packed by the sender and read by the receiver.
// They fit into a core's own cache, so that what one side has written the other finds there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/stage_slot.hpp"

namespace coracle::internals {

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
  Task<StageSlot> take();

 private:
  friend class StageSlot;

  void make();
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

}  // namespace coracle::internals
