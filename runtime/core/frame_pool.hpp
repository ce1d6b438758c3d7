// Memory for coroutine frames: a free list per size class and thread, so that awaiting a task costs no malloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CORACLE_PLAIN_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORACLE_PLAIN_FRAMES 1
#endif
#endif
#ifndef CORACLE_PLAIN_FRAMES
#define CORACLE_PLAIN_FRAMES 0  // 1: every frame is its own allocation, so that sanitizers see each one's life
#endif

namespace coracle::internals {

/// Each thread has one. A loop has one thread, so the pool of the thread is the pool of its loop (in `sim` and in tests
/// several loops of one thread share it). Threads that turn one loop in turns use a pool of that loop's meanwhile. A
/// frame must be released while the pool is in use that has given it, or in another one that is never trimmed.
class FramePool {
 public:
  /// A pool beside those of threads.
  constexpr FramePool() = default;

  static void* allocate(std::size_t bytes) {
    if (CORACLE_PLAIN_FRAMES || bytes > kLargest) return ::operator new(bytes);
    FramePool& pool = *current_;
    Node* const node = pool.free_[index_of(bytes)];
    if (node == nullptr) [[unlikely]]
      return refill(index_of(bytes));
    pool.free_[index_of(bytes)] = node->next;
    return node;
  }

  static void release(void* frame, std::size_t bytes) noexcept {
    if (CORACLE_PLAIN_FRAMES || bytes > kLargest) return ::operator delete(frame);
    FramePool& pool = *current_;
    pool.free_[index_of(bytes)] = new (frame) Node{pool.free_[index_of(bytes)]};
  }

  /// Gives all memory of the calling thread's own pool back, if it is in use and no frame lives in it. Called when a
  /// loop ends. To know it takes a walk over all free frames: where frames outlive loops, perhaps for ever, only each
  /// second, fourth ... call looks, at last one of kSkippedMax + 1; what a thread's last call has skipped stays.
  static void trim() noexcept;

  /// Bytes that the pool in use has taken from the system so far.
  static std::size_t reserved_bytes() noexcept { return current_->reserved_bytes_; }

  /// From now on the calling thread uses `pool`, which nobody else may use meanwhile. Gives the one that it has used.
  static FramePool* use(FramePool* pool) noexcept { return std::exchange(current_, pool); }

 private:
  struct Node {
    Node* next;
  };
  struct Slab {
    Slab* next;
  };
  // Size classes: fine ones for frames, whose sizes the compiler knows, and coarser ones above, where messages that
  // wait for a receive come in all sizes, and each class keeps what it was once given.
  static constexpr std::size_t kGrain = 32;
  static constexpr std::size_t kFine = 1024;
  static constexpr std::size_t kCoarseGrain = 256;
  static constexpr std::size_t kLargest = 8192;
  static constexpr std::size_t kFirstCoarse =
      kFine / kGrain - kFine / kCoarseGrain;  // added to a coarse class's number
  static constexpr std::size_t kClasses = kFirstCoarse + kLargest / kCoarseGrain + 1;
  static constexpr std::size_t kSlabBytes = 64 * 1024;
  static constexpr std::uint32_t kSkippedMax = 255;  // calls of trim(), as 2^n - 1
  static constexpr std::size_t kBatchBytes = 4096;   // what a class is given at a time, or one frame

  static constexpr std::size_t index_of(std::size_t bytes) {
    return bytes <= kFine ? (bytes + kGrain - 1) / kGrain : kFirstCoarse + (bytes + kCoarseGrain - 1) / kCoarseGrain;
  }
  static constexpr std::size_t bytes_of(std::size_t index) {
    return index <= kFine / kGrain ? index * kGrain : (index - kFirstCoarse) * kCoarseGrain;
  }
  /// Makes room for frames of that size in the pool in use; gives one.
  static void* refill(std::size_t index);

  std::array<Node*, kClasses> free_{};
  Slab* slabs_ = nullptr;
  std::size_t uncarved_ = 0;  // bytes at the end of the first slab that no class has been given
  std::size_t reserved_bytes_ = 0;
  std::size_t carved_ = 0;           // frames that the slabs were cut into: those in free_, and the live ones
  std::uint32_t vain_trims_ = 0;     // how many calls of trim() were skipped behind the last one that was in vain
  std::uint32_t trims_to_skip_ = 0;  // how many of these are left

  // Trivially destructible on purpose: access then needs no initialisation guard.
  static constinit thread_local FramePool own_;
  /// Of a thread that has had no frame yet: one that never has any, until refill() has put the thread's own in its
  /// place.
  static const FramePool none_;
  static constinit thread_local FramePool* current_;
};

}  // namespace coracle::internals
