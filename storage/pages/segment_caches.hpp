// SegmentCaches: the caches of one paged segment, as one of them sees them: which rank keeps each, where their frames
// lie, and where pages have their homes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/job/remote.hpp"
#include "runtime/rank/rank.hpp"
#include "storage/options/page_map.hpp"
#include "storage/pages/frames.hpp"
#include "storage/protocol/coherence_message.hpp"
#include "storage/protocol/protocol.hpp"

namespace coracle::internals {
class Rank;
}

namespace coracle::internals::storage {

/// It does not change, but for what lies in the frames.
class SegmentCaches {
 public:
  struct Peer {
    std::uint32_t rank = 0;
    Remote<std::byte> frames;  ///< Its memory.
  };
  struct Shape {
    std::uint32_t segment = 0;
    CacheId own = 0;  ///< Which of the caches this is; the first `map.homes` of them have homes.
    std::uint64_t bytes = 0;
    PageMap map;
  };
  /// `frames`: of its own.
  SegmentCaches(Rank& rank, const Shape& shape, const Frames& frames, std::vector<Peer> peers) noexcept
      : rank_(rank), shape_(shape), frames_(frames), peers_(std::move(peers)) {}

  Rank& rank() const noexcept { return rank_; }
  std::uint32_t segment() const noexcept { return shape_.segment; }
  CacheId own() const noexcept { return shape_.own; }
  std::uint64_t bytes() const noexcept { return shape_.bytes; }
  const PageMap& map() const noexcept { return shape_.map; }
  const Frames& frames() const noexcept { return frames_; }
  std::size_t nodes() const noexcept { return peers_.size(); }
  const Peer& peer(CacheId node) const noexcept { return peers_[node]; }

  CacheId home_of(std::uint64_t page) const noexcept { return shape_.map.home_of(page); }
  bool home_is_lost(std::uint64_t page) const noexcept;
  /// Where a frame of a cache is, when loads and stores reach it; else null.
  std::byte* reach_frame(CacheId node, std::uint32_t frame) const noexcept;
  Remote<std::byte> remote_frame(CacheId node, std::uint32_t frame) const noexcept;
  /// Whether a page for this frame goes with its coherence message.
  bool goes_with_message(CacheId to, std::uint32_t frame) const noexcept;

 private:
  Rank& rank_;
  Shape shape_;
  Frames frames_;
  std::vector<Peer> peers_;
};

inline bool SegmentCaches::home_is_lost(std::uint64_t page) const noexcept {
  return rank_.lost(peers_[home_of(page)].rank);
}

inline Remote<std::byte> SegmentCaches::remote_frame(CacheId node, std::uint32_t frame) const noexcept {
  const std::size_t offset = std::size_t{frame} * frames_.shape().page_bytes;
  return peers_[node].frames + static_cast<std::ptrdiff_t>(offset);
}

inline std::byte* SegmentCaches::reach_frame(CacheId node, std::uint32_t frame) const noexcept {
  if (node == shape_.own) return frames_.bytes_of(frame);
  return rank_.reach(remote_frame(node, frame), frames_.shape().page_bytes);
}

inline bool SegmentCaches::goes_with_message(CacheId to, std::uint32_t frame) const noexcept {
  return frames_.shape().page_bytes <= CoherenceMessage::kPageBytesMax && reach_frame(to, frame) == nullptr;
}

}  // namespace coracle::internals::storage
