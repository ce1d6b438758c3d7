// Who is reached, and how.
#include "storage/pages/segment_caches.hpp"

#include "runtime/rank/rank.hpp"
#include "storage/protocol/coherence_message.hpp"

namespace coracle::internals::storage {

bool SegmentCaches::home_is_lost(std::uint64_t page) const noexcept {
  return rank_.lost(peers_[home_of(page)].rank);
}

Remote<std::byte> SegmentCaches::remote_frame(CacheId node, std::uint32_t frame) const noexcept {
  const std::size_t offset = std::size_t{frame} * frames_.shape().page_bytes;
  return peers_[node].frames + static_cast<std::ptrdiff_t>(offset);
}

std::byte* SegmentCaches::reach_frame(CacheId node, std::uint32_t frame) const noexcept {
  if (node == shape_.own) return frames_.bytes_of(frame);
  return rank_.reach(remote_frame(node, frame), frames_.shape().page_bytes);
}

bool SegmentCaches::goes_with_message(CacheId to, std::uint32_t frame) const noexcept {
  return frames_.shape().page_bytes <= CoherenceMessage::kPageBytesMax && reach_frame(to, frame) == nullptr;
}

}  // namespace coracle::internals::storage
