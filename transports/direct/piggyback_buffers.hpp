// PiggybackBuffers: buffers of peers in which buffered messages have come. The lines of such a buffer are with this
// rank now. So a message that goes to the same peer next is put there, and comes as the answer, too: each line changes
// hands once per message, and not once to be read and once more to be written again; and nothing but messages travels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/cold_reads.hpp"
#include "transports/direct/buffered_sends.hpp"

namespace coracle::internals::direct {

/// Of one rank; its thread only.
class PiggybackBuffers {
 public:
  /// A buffer whose message has been read, which its owner does not know yet.
  struct Buffer {
    std::uint32_t peer;  ///< The owner.
    std::uint64_t operation;
    std::byte* memory;
  };

  // Whether a message is soon followed by one the other way is foreseen from those before.

  /// A message of `peer` has come.
  void came_from(std::uint32_t peer) noexcept {
    source_ = peer;
    is_awaited_ = true;
  }
  /// One goes to `peer`.
  void goes_to(std::uint32_t peer) noexcept {
    if (!is_awaited_ || source_ != peer) return;
    is_awaited_ = false;
    hits_ = std::min(hits_ + 1, kHitsMax);
  }
  /// There is nothing to do: an answer would have gone before.
  void idle() noexcept {
    if (!is_awaited_) return;
    is_awaited_ = false;
    hits_ = std::max(hits_ - 1, 0);
  }
  bool are_likely() const noexcept { return hits_ >= kHitsMax - 1; }

  /// Whether messages had better be buffered that need not be.
  ColdReads& cold_reads() noexcept { return cold_reads_; }

  /// Only when not full().
  void keep(const Buffer& buffer) noexcept { buffers_[count_++] = buffer; }
  bool full() const noexcept { return count_ == buffers_.size(); }
  std::span<const Buffer> kept() const noexcept { return {buffers_.data(), count_}; }
  /// The buffer of `peer` that came last, which is the warmest, or null. Until the next call of another function.
  const Buffer* of(std::uint32_t peer) const noexcept {
    for (std::size_t i = count_; i-- > 0;)
      if (buffers_[i].peer == peer) return &buffers_[i];
    return nullptr;
  }
  /// One of those that are kept; the others stay in order.
  void remove(const Buffer& buffer) noexcept {
    Buffer* const there = buffers_.data() + (&buffer - buffers_.data());
    std::copy(there + 1, buffers_.data() + count_, there);
    --count_;
  }
  void clear() noexcept { count_ = 0; }

 private:
  static constexpr int kHitsMax = 3;
  static constexpr std::uint64_t kDeliveryNs = 100;

  std::array<Buffer, BufferedSends::kBuffers> buffers_;
  std::size_t count_ = 0;
  std::uint32_t source_ = 0;
  bool is_awaited_ = false;
  int hits_ = 0;
  ColdReads cold_reads_{kDeliveryNs};
};

}  // namespace coracle::internals::direct
