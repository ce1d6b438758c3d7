// The cold half of the frame pool: taking slabs from the system and giving them back.
#include "runtime/core/frame_pool.hpp"

#include <cstdlib>

namespace coracle::internals {

constinit thread_local FramePool FramePool::current_;

void FramePool::refill(std::size_t index) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, kSlabBytes));
  if (memory == nullptr) throw std::bad_alloc();
  FramePool& pool = current_;
  pool.slabs_ = new (memory) Slab{pool.slabs_};
  pool.reserved_bytes_ += kSlabBytes;
  const std::size_t frame_bytes = index * kGrain;
  Node* head = pool.free_[index];
  for (std::size_t at = 64; at + frame_bytes <= kSlabBytes; at += frame_bytes) {
    head = new (memory + at) Node{head};
    ++pool.carved_;
  }
  pool.free_[index] = head;
}

void FramePool::trim() noexcept {
  FramePool& pool = current_;
  std::size_t free_count = 0;  // counted here, once, rather than at each frame's birth and death
  for (const Node* node : pool.free_)
    for (; node != nullptr; node = node->next) ++free_count;
  if (free_count != pool.carved_) return;
  while (pool.slabs_ != nullptr) {
    Slab* slab = pool.slabs_;
    pool.slabs_ = slab->next;
    std::free(slab);
  }
  pool.free_.fill(nullptr);
  pool.reserved_bytes_ = 0;
  pool.carved_ = 0;
}

}  // namespace coracle::internals
