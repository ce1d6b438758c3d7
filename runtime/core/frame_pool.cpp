// The cold half of the frame pool: taking slabs from the system and giving them back.
#include "runtime/core/frame_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace coracle::internals {

constinit thread_local FramePool FramePool::own_;
constinit const FramePool FramePool::none_;
// Nobody writes there: it has no frames to give, and takes none back.
constinit thread_local FramePool* FramePool::current_ = const_cast<FramePool*>(&none_);

// A slab is cut piece by piece: what no class has needed yet is memory that nobody has touched.
void* FramePool::refill(std::size_t index) {
  if (current_ == &none_) current_ = &own_;
  FramePool& pool = *current_;
  const std::size_t frame_bytes = bytes_of(index);
  if (pool.uncarved_ < frame_bytes) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, kSlabBytes));
    if (memory == nullptr) throw std::bad_alloc();
    pool.slabs_ = new (memory) Slab{pool.slabs_};
    pool.reserved_bytes_ += kSlabBytes;
    pool.uncarved_ = kSlabBytes - 64;
  }
  std::byte* at = reinterpret_cast<std::byte*>(pool.slabs_) + kSlabBytes - pool.uncarved_;
  const std::size_t frames = std::max<std::size_t>(std::min(kBatchBytes, pool.uncarved_) / frame_bytes, 1);
  // The first to be taken is the one at the lowest address, so that pages are touched in their order.
  Node* head = pool.free_[index];
  for (std::size_t i = frames; i-- > 0;) head = new (at + i * frame_bytes) Node{head};
  pool.free_[index] = head->next;
  pool.carved_ += frames;
  pool.uncarved_ -= frames * frame_bytes;
  return head;
}

void FramePool::trim() noexcept {
  if (current_ != &own_) return;  // none, or one that threads share, which may hold frames of theirs
  FramePool& pool = own_;
  if (pool.trims_to_skip_ > 0) {
    --pool.trims_to_skip_;
    return;
  }
  std::size_t free_count = 0;  // counted here, once, rather than at each frame's birth and death
  for (const Node* node : pool.free_)
    for (; node != nullptr; node = node->next) ++free_count;
  if (free_count != pool.carved_) {
    pool.vain_trims_ = std::min(2 * pool.vain_trims_ + 1, kSkippedMax);
    pool.trims_to_skip_ = pool.vain_trims_;
    return;
  }
  while (pool.slabs_ != nullptr) {
    Slab* slab = pool.slabs_;
    pool.slabs_ = slab->next;
    std::free(slab);
  }
  pool.free_.fill(nullptr);
  pool.uncarved_ = 0;
  pool.reserved_bytes_ = 0;
  pool.carved_ = 0;
  pool.vain_trims_ = 0;
}

}  // namespace coracle::internals
