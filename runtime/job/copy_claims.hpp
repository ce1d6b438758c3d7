// CopyClaims: who makes which chunk of one copy that two processes make together.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace coracle::internals {

/// In the job's region, in the block of the receiver, who takes chunks from the beginning; the sender takes them from
/// the end. One copy after the other, each with a number, by which a sender who comes late sees that its copy is over.
class alignas(64) CopyClaims {
 public:
  static constexpr std::uint64_t kChunksMax = (1U << 16) - 1;

  // --- the receiver ---
  /// A copy begins, the one before has ended; gives its number.
  std::uint32_t begin(std::uint64_t chunks) noexcept {
    // relaxed, all of them: the message that asks the sender for help comes after.
    const std::uint32_t next = number() + 1;
    sent_.store(0, std::memory_order_relaxed);
    error_.store(0, std::memory_order_relaxed);
    open_.store(std::uint64_t{next} << 32 | chunks, std::memory_order_relaxed);
    return next;
  }
  std::optional<std::uint64_t> claim_first() noexcept {
    return claim([](Open& open) { return open.first++; }, nullptr);
  }
  /// Chunks that the sender has copied.
  std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_acquire); }  // pairs with note_sent()
  /// Of sent(): an errno, or 0.
  int error() const noexcept { return error_.load(std::memory_order_relaxed); }

  /// Of the copy that has begun last.
  std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(open_.load(std::memory_order_relaxed) >> 32);
  }

  // --- the sender ---
  std::optional<std::uint64_t> claim_last(std::uint32_t number) noexcept {
    return claim([](Open& open) { return --open.end; }, &number);
  }
  /// The chunk that was claimed last is there, or failed.
  void note_sent(int error) noexcept {
    if (error != 0) error_.store(error, std::memory_order_relaxed);  // before the next line
    sent_.fetch_add(1, std::memory_order_release);
  }

 private:
  /// Chunks that nobody has claimed.
  struct Open {
    std::uint64_t first;
    std::uint64_t end;
  };

  template <class Take>
  std::optional<std::uint64_t> claim(Take take, const std::uint32_t* number) noexcept {
    std::uint64_t before = open_.load(std::memory_order_relaxed);
    for (;;) {
      if (number != nullptr && before >> 32 != *number) return std::nullopt;
      Open open{before >> 16 & kChunksMax, before & kChunksMax};
      if (open.first >= open.end) return std::nullopt;
      const std::uint64_t chunk = take(open);
      const std::uint64_t after = before >> 32 << 32 | open.first << 16 | open.end;
      // relaxed: who has a chunk is decided by this word alone; the sender's buffer was filled before its message came.
      if (open_.compare_exchange_weak(before, after, std::memory_order_relaxed)) return chunk;
    }
  }

  std::atomic<std::uint64_t> open_{0};  // number: 32 bits, first: 16, end: 16
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<int> error_{0};
};

}  // namespace coracle::internals
