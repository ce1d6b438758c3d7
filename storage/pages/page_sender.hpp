// PageSender: how the messages of the protocol go from one cache, and the home beside it, to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/rank/message.hpp"
#include "storage/pages/cache_tasks.hpp"
#include "storage/pages/page_buffers.hpp"
#include "storage/pages/segment_caches.hpp"
#include "storage/protocol/coherence_message.hpp"

namespace coracle::internals::storage {

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
