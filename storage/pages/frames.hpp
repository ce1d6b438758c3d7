// Frames: the memory of a page cache, and the table by which every rank that reaches it finds and pins a cached page
// with a few loads and one atomic operation. Filled and emptied by one rank, the cache's controller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace coracle::internals::storage {

/// Who holds a frame, and what for: pins of readers and writers, counted, and what new pins are allowed.
class alignas(64) FrameDescriptor {
 public:
  /// A pin for `page`, to read or to write; false when the frame does not hold it or not with that right. Any rank.
  /// `now`: as CacheShared counts.
  bool try_pin(std::uint64_t page, bool writing, std::uint32_t now) noexcept {
    const std::uint64_t one = writing ? kOneWriter : kOneReader;
    // acquire: pairs with allow(), so that the page's number and bytes from before it are seen.
    const std::uint64_t before = word_.fetch_add(one, std::memory_order_acquire);
    if ((before & (writing ? kMayWrite : kMayRead)) != 0 && page_.load(std::memory_order_relaxed) == page) [[likely]] {
      if (used_at_.load(std::memory_order_relaxed) != now) used_at_.store(now, std::memory_order_relaxed);
      return true;
    }
    word_.fetch_sub(one, std::memory_order_release);
    return false;
  }
  void unpin(bool writing) noexcept {
    // What was read or written under the pin happened before it is seen to be gone, by readers() and writers().
    // seq_cst: see CacheShared::wants_unpins.
    word_.fetch_sub(writing ? kOneWriter : kOneReader, std::memory_order_seq_cst);
  }

  // --- for the controller ---
  std::uint64_t page() const noexcept { return page_.load(std::memory_order_relaxed); }
  /// Only while nothing is allowed and nobody has pinned it.
  void set_page(std::uint64_t page) noexcept { page_.store(page, std::memory_order_relaxed); }
  /// From now on pins to read and to write succeed, or not any more.
  void allow(bool reading, bool writing) noexcept {
    const std::uint64_t wanted = (reading ? kMayRead : 0) | (writing ? kMayWrite : 0);
    // acq_rel: release pairs with try_pin(); acquire, that a pin seen here to be gone has ended.
    word_.fetch_or(wanted, std::memory_order_acq_rel);
    word_.fetch_and(~((kMayRead | kMayWrite) & ~wanted), std::memory_order_acq_rel);
  }
  /// Pins whatever is allowed.
  void pin(bool writing) noexcept { word_.fetch_add(writing ? kOneWriter : kOneReader, std::memory_order_acquire); }
  // seq_cst: pairs with unpin(), and see CacheShared::wants_unpins.
  std::uint32_t writers() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_seq_cst) / kOneWriter & kCountMask);
  }
  std::uint32_t readers() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_seq_cst) & kCountMask);
  }
  bool pinned() const noexcept {
    return (word_.load(std::memory_order_seq_cst) & (kOneWriter * kCountMask | kCountMask)) != 0;
  }
  /// Somebody writes to it, or may begin to at any time.
  bool may_change() const noexcept {
    return (word_.load(std::memory_order_seq_cst) & (kMayWrite | kOneWriter * kCountMask)) != 0;
  }
  /// When it was last pinned by try_pin(), since this was last asked; 0: not.
  std::uint32_t take_used_at() noexcept {
    const std::uint32_t at = used_at_.load(std::memory_order_relaxed);
    if (at != 0) used_at_.store(0, std::memory_order_relaxed);
    return at;
  }

 private:
  static constexpr std::uint64_t kOneReader = 1;
  static constexpr std::uint64_t kOneWriter = 1 << 24;
  static constexpr std::uint64_t kCountMask = (1 << 24) - 1;
  static constexpr std::uint64_t kMayRead = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kMayWrite = std::uint64_t{1} << 63;

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> page_{~std::uint64_t{0}};
  std::atomic<std::uint32_t> used_at_{0};
};

/// What a cache has done, counted by its controller and read by anybody.
struct alignas(64) CacheCounters {
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> from_peers{0};
  std::atomic<std::uint64_t> ssd_reads{0};
  std::atomic<std::uint64_t> ssd_writes{0};
  std::atomic<std::uint64_t> evictions{0};
  std::atomic<std::uint64_t> dirty_evictions{0};
  std::atomic<std::uint64_t> invalidations{0};
  std::atomic<std::uint64_t> read_ahead{0};
  std::atomic<std::uint64_t> offered{0};
  std::atomic<std::uint64_t> handed_on{0};
  std::atomic<std::uint64_t> taken_in{0};

  /// By the one writer: no locked instruction.
  static void add(std::atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};

/// What those who use a cache look at, at every hit.
struct alignas(64) CacheShared {
  /// Pages that were put into the cache: the time by which uses are told to be long ago or not. From 1 on.
  std::atomic<std::uint32_t> insertions{1};
  /// The controller waits for pins to end: who unpins tells it. seq_cst, like unpin(), readers() and writers(): either
  /// who unpins sees this set, or the controller, which set it before it looked, sees the pin gone. (Who failed to pin
  /// goes to the controller anyway.)
  std::atomic<std::uint32_t> wants_unpins{0};
};

/// A view of a cache's memory; the same at every rank that reaches it. Does not own it.
class Frames {
 public:
  static constexpr std::size_t kAlignment = 2 << 20;  // of a huge page
  static constexpr std::uint32_t kNone = 0xffffffff;

  struct Shape {
    std::uint32_t frames = 0;
    std::uint32_t page_bytes = 0;
    std::uint64_t pages = 0;  ///< Of the segment.
  };

  /// Bytes that a cache of this shape needs, at a multiple of kAlignment.
  static std::size_t bytes_needed(const Shape& shape) noexcept {
    return memory_bytes(shape) + sizeof(CacheCounters) + sizeof(CacheShared) + shape.frames * sizeof(FrameDescriptor) +
           shape.pages * sizeof(Place);
  }
  /// Of memory that the controller has prepared by make().
  Frames(std::byte* memory, const Shape& shape) noexcept
      : memory_(memory),
        counters_(reinterpret_cast<CacheCounters*>(memory + memory_bytes(shape))),
        shared_(reinterpret_cast<CacheShared*>(counters_ + 1)),
        heads_(reinterpret_cast<FrameDescriptor*>(shared_ + 1)),
        places_(reinterpret_cast<Place*>(heads_ + shape.frames)),
        shape_(shape) {}
  /// Prepares the memory, by the controller. That of the pages is left as it is.
  static Frames make(std::byte* memory, const Shape& shape) noexcept {
    const Frames frames(memory, shape);
    new (frames.counters_) CacheCounters;
    new (frames.shared_) CacheShared;
    for (std::uint32_t i = 0; i < shape.frames; ++i) new (&frames.heads_[i]) FrameDescriptor;
    for (std::uint64_t page = 0; page < shape.pages; ++page) new (&frames.places_[page]) Place{0};
    return frames;
  }

  const Shape& shape() const noexcept { return shape_; }
  /// Of all pages' bytes, from bytes_of(0) on.
  std::size_t memory_bytes() const noexcept { return memory_bytes(shape_); }
  CacheCounters& counters() const noexcept { return *counters_; }
  CacheShared& shared() const noexcept { return *shared_; }
  std::byte* bytes_of(std::uint32_t frame) const noexcept { return memory_ + std::size_t{frame} * shape_.page_bytes; }
  FrameDescriptor& head(std::uint32_t frame) const noexcept { return heads_[frame]; }
  /// Where `page` is, or was a moment ago; kNone: nowhere.
  std::uint32_t find(std::uint64_t page) const noexcept {
    // acquire: pairs with place(): the frame's head is as it was then, or newer.
    return places_[page].load(std::memory_order_acquire) - 1;
  }
  /// The controller's: `page` is in `frame` (kNone: nowhere).
  void place(std::uint64_t page, std::uint32_t frame) const noexcept {
    places_[page].store(frame + 1, std::memory_order_release);  // pairs with find()
  }
  /// A pinned frame with `page`, or kNone. Any rank.
  std::uint32_t try_pin(std::uint64_t page, bool writing) const noexcept {
    const std::uint32_t frame = find(page);
    if (frame == kNone) return kNone;
    const std::uint32_t now = shared_->insertions.load(std::memory_order_relaxed);
    return heads_[frame].try_pin(page, writing, now) ? frame : kNone;
  }

 private:
  using Place = std::atomic<std::uint32_t>;  // frame + 1; 0: none
  static std::size_t memory_bytes(const Shape& shape) noexcept { return std::size_t{shape.frames} * shape.page_bytes; }

  std::byte* memory_;
  CacheCounters* counters_;
  CacheShared* shared_;
  FrameDescriptor* heads_;
  Place* places_;
  Shape shape_;
};

}  // namespace coracle::internals::storage
