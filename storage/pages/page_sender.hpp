// PageSender: how the messages of the protocol go from one cache, and the home beside it, to others; and the buffers of
// pages that go with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"

namespace coracle::internals::storage {

/// Memory for pages on their way between a file and another node, kept for the next ones. Of one loop. Buffers are
/// aligned to 4096, for direct I/O.
class PageBuffers {
 public:
  explicit PageBuffers(std::size_t page_bytes) noexcept : page_bytes_(page_bytes) {}

  class Buffer {
   public:
    Buffer(PageBuffers& owner, std::byte* memory) noexcept : owner_(&owner), memory_(memory) {}
    Buffer(Buffer&& other) noexcept : owner_(other.owner_), memory_(std::exchange(other.memory_, nullptr)) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
      if (memory_ != nullptr) owner_->free_.emplace_back(memory_);
    }
    std::byte* data() const noexcept { return memory_; }

   private:
    PageBuffers* owner_;
    std::byte* memory_;
  };

  /// Throws std::bad_alloc.
  Buffer take() {
    // Room to give it back, now: ~Buffer can't fail.
    if (free_.empty()) {
      free_.reserve(++made_);
      return Buffer(*this, static_cast<std::byte*>(::operator new(page_bytes_, kAlignment)));
    }
    std::byte* memory = free_.back().release();
    free_.pop_back();
    return Buffer(*this, memory);
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Delete {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  std::size_t page_bytes_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<std::byte, Delete>> free_;
};

/// Used by its rank's thread. What a lost peer would have got is gone: its loss is told elsewhere.
class PageSender {
 public:
  /// What it refers to must outlive it. `receiver`: finds the cache or home that a coherence message is for.
  PageSender(const SegmentCaches& caches, CacheTasks& tasks, Handler receiver) noexcept
      : caches_(caches), tasks_(tasks), receiver_(receiver) {}

  /// To another cache. Messages arrive in the order of these calls.
  void post(CacheId to, const CoherenceMessage& coherence_message);
  /// With the page.
  void post(CacheId to, const CoherenceMessage& coherence_message, PageBuffers::Buffer page);
  /// `page`: what goes with it, perhaps nothing; it must live until then.
  Task<> send(CacheId to, CoherenceMessage coherence_message, std::span<const std::byte> page = {});

 private:
  Task<> send_buffer(CacheId to, CoherenceMessage coherence_message, PageBuffers::Buffer page);

  const SegmentCaches& caches_;
  CacheTasks& tasks_;
  Handler receiver_;
};

/// Answers for a segment that is closed here, so that a peer that goes on, after an error here that it has not heard
/// of, does not wait for ever. `own`: the number of this rank's cache in it. `receiver`: as the sender's.
void answer_for_closed(Rank& rank, const Message& message, CacheId own, Handler receiver);

}  // namespace coracle::internals::storage
