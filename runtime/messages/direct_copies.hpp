// Copies of a message straight from one side's memory to the other's: by both sides, SharedCopy, or by the kernel out
// of another process of this machine, also between scattered places, copy_from_process.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <system_error>

#include "runtime/messages/message_memory.hpp"

namespace coracle::internals {

/// One copy that both sides of a message make at the same time, the receiver from its beginning and the sender from its
/// end, chunk by chunk, so that each does what it finds time for: a side that comes late, or never, costs the other
/// only its help. It lies with its sender, until the receiver has said that it needs it no more.
///
/// Source: the cooperative copy of Shimada, Hori and Ishikawa (IPSJ 2016), in which each side copies one half.
class SharedCopy {
 public:
  static constexpr std::size_t kChunkBytesMax = 32 * 1024;

  explicit SharedCopy(const MessageSource& source) noexcept
      : source_(source),
        chunk_bytes_(chunk_bytes(source.bytes())),
        chunks_((source.bytes() + chunk_bytes_ - 1) / chunk_bytes_) {}
  SharedCopy(const SharedCopy&) = delete;
  SharedCopy& operator=(const SharedCopy&) = delete;

  const MessageSource& source() const noexcept { return source_; }

  /// Receiver: copies the next chunk of its own to `target`, which has room for the whole. False when none is left.
  bool copy_first(const MessageTarget& target) noexcept {
    // relaxed: who has a chunk is decided by this word alone; the sender's buffer was filled before its message came.
    const Claims claims = unpack(claims_.fetch_add(1, std::memory_order_relaxed));
    if (claims.first + claims.last >= chunks_) return false;
    copy(claims.first, target);
    ++copied_first_;
    return true;
  }
  /// Sender: the same from the end.
  bool copy_last(const MessageTarget& target) noexcept {
    const Claims claims = unpack(claims_.fetch_add(kLast, std::memory_order_relaxed));  // as above
    if (claims.first + claims.last >= chunks_) return false;
    copy(chunks_ - 1 - claims.last, target);
    copied_last_.fetch_add(1, std::memory_order_release);  // pairs with the load in complete()
    return true;
  }
  /// Receiver, once copy_first() has found nothing left: whether the sender has ended its part.
  bool complete() const noexcept {
    return copied_first_ + copied_last_.load(std::memory_order_acquire) == chunks_;  // pairs with copy_last()
  }

 private:
  /// So many that no side waits long for the other's last one; not so small that taking them shows.
  static constexpr std::size_t kChunkBytesMin = 1024;
  static constexpr std::size_t kChunks = 16;
  static constexpr std::size_t chunk_bytes(std::size_t bytes) noexcept {
    return std::clamp(bytes / kChunks / kChunkBytesMin * kChunkBytesMin, kChunkBytesMin, kChunkBytesMax);
  }

  /// Chunks that each side has taken, or wanted to take.
  struct Claims {
    std::uint64_t first;
    std::uint64_t last;
  };
  static constexpr std::uint64_t kLast = std::uint64_t{1} << 32;
  static Claims unpack(std::uint64_t claims) noexcept { return {claims % kLast, claims / kLast}; }

  void copy(std::uint64_t chunk, const MessageTarget& target) const noexcept {
    const std::size_t position = chunk * chunk_bytes_;
    copy_part(target, source_, position, std::min(chunk_bytes_, source_.bytes() - position));
  }

  const MessageSource source_;
  const std::size_t chunk_bytes_;
  const std::uint64_t chunks_;
  std::uint64_t copied_first_ = 0;  // the receiver's
  alignas(64) std::atomic<std::uint64_t> claims_{0};
  std::atomic<std::uint64_t> copied_last_{0};
};

/// Reads the first `bytes` of `source`, which lies in the process `pid` (only its layout lies here), into `target`:
/// as many runs of both sides per system call as the kernel takes.
std::error_code copy_from_process(pid_t pid, const MessageTarget& target, const MessageSource& source,
                                  std::uint64_t bytes) noexcept;

}  // namespace coracle::internals
