// BounceBuffers: the buffers of one rank through which messages go in pieces, packed by the sender and read by the
// receiver. They fit into a core's own cache, so that what one side has written the other finds there.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

class BounceBuffers;

/// One of BounceBuffers, on loan, for a message in pieces or a packed one. Goes back when it dies. Empty: none.
class [[nodiscard]] BounceBuffer {
 public:
  BounceBuffer() = default;
  BounceBuffer(BounceBuffers& of, std::byte* data) noexcept : of_(&of), data_(data) {}
  BounceBuffer(BounceBuffer&& other) noexcept : of_(other.of_), data_(std::exchange(other.data_, nullptr)) {}
  BounceBuffer& operator=(BounceBuffer&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~BounceBuffer() {
    if (data_ != nullptr) give_back();
  }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Of BounceBuffers::kBufferBytes.
  std::byte* data() const noexcept { return data_; }

 private:
  void give_back() noexcept;

  BounceBuffers* of_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Its rank's thread only.
class BounceBuffers {
 public:
  static constexpr std::size_t kBufferBytes = 32 * 1024;
  static constexpr std::size_t kBytes = JobRegion::kBounceBytes;
  static constexpr std::size_t kBuffers = kBytes / kBufferBytes;

  /// `memory`: kBytes that peers can read, or null: then they take memory of their own, when they are first used.
  explicit BounceBuffers(std::byte* memory) noexcept : memory_(memory) {}

  /// For a packed message, which keeps it until somebody looks after its send: who is no coroutine may do so only after
  /// something else has come, even a message in pieces. Empty when others are on loan than those that are left for
  /// these.
  BounceBuffer try_take_for_packed();
  /// Waits for a buffer. For pieces, which go on by themselves.
  Task<BounceBuffer> take();

 private:
  friend class BounceBuffer;
  static constexpr std::size_t kLeftForPieces = 3;  // some are packed while others are read

  BounceBuffer try_take(std::size_t leaving);

  void make();
  void give_back(std::byte* data) noexcept;

  std::byte* memory_;
  std::unique_ptr<std::byte[]> own_;
  std::vector<std::byte*> free_;
  Event freed_;
  bool made_ = false;
};

}  // namespace coracle::internals
