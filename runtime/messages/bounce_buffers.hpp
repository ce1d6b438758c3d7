// BounceBuffers: the buffers of one rank through which messages go in pieces, packed by the sender and read by the
// receiver. They fit into a core's own cache, so that what one side has written the other finds there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/bounce_buffer.hpp"

namespace coracle::internals {

/// Its rank's thread only.
class BounceBuffers {
 public:
  static constexpr std::size_t kBufferBytes = 32 * 1024;
  static constexpr std::size_t kBytes = JobRegion::kBounceBytes;
  static constexpr std::size_t kBuffers = kBytes / kBufferBytes;

  /// `memory`: kBytes that peers can read, or null: then they take memory of their own, when they are first used.
  explicit BounceBuffers(std::byte* memory) noexcept : memory_(memory) {}

  BounceBuffer try_take() {
    if (!made_) [[unlikely]]
      make();
    if (free_.empty()) return {};
    std::byte* data = free_.back();
    free_.pop_back();
    return {*this, data};
  }
  /// Waits for a buffer.
  Task<BounceBuffer> take();

 private:
  friend class BounceBuffer;

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
