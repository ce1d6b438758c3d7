// Begins wait in a table for their ends.
#include "runtime/insight/trace_spans.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <unordered_map>

namespace coracle::internals {
namespace {

/// What an end has in common with its begin alone.
struct PairKey {
  std::uint64_t kind;  // of the begin; of messages with the peer above it
  std::uint64_t id;

  static PairKey of(const StoredEvent& event) noexcept {
    const std::uint64_t kind = event.kind & ~std::uint64_t{1};
    if (StoredEvent::is_message(event.kind)) return {kind | std::uint64_t{event.peer} << 16, event.number};
    return {kind, event.id};
  }
  bool operator==(const PairKey&) const noexcept = default;
};

struct HashPairKey {
  std::size_t operator()(const PairKey& key) const noexcept {
    return std::hash<std::uint64_t>()(key.kind * 0x9e3779b97f4a7c15ULL ^ key.id);
  }
};

bool is_known(std::uint16_t kind) noexcept {
  return kind >= CORACLE_RANK_BEGIN && kind <= CORACLE_SLEEP_END;
}

void close(TraceSpan& span, std::uint64_t end_ns) noexcept {
  span.end_ns = std::max(end_ns, span.begin_ns + 1);
}

}  // namespace

std::vector<TraceSpan> spans_of(const RankEvents& rank) {
  std::vector<TraceSpan> spans;
  std::unordered_map<PairKey, std::size_t, HashPairKey> open;
  for (const StoredEvent& event : rank.events) {
    if (!is_known(event.kind)) continue;
    const PairKey key = PairKey::of(event);
    const auto found = open.find(key);
    if ((event.kind & 1) == 0) {
      // A begin instead of an end: what waited was torn down, and its place is used again.
      if (found != open.end()) close(spans[found->second], event.ticks);
      open.insert_or_assign(key, spans.size());
      TraceSpan span;
      span.begin_ns = event.ticks;
      span.begin = event;
      spans.push_back(span);
    } else if (found != open.end()) {
      TraceSpan& span = spans[found->second];
      close(span, event.ticks);
      span.end = event;
      span.is_closed = true;
      open.erase(found);
    }
  }
  const std::uint64_t last_ns = rank.events.empty() ? 0 : rank.events.back().ticks;
  for (const auto& [key, index] : open) close(spans[index], last_ns);
  return spans;
}

}  // namespace coracle::internals
