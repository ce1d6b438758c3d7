// Cutting traces into parts, and joining them.
#include "runtime/launch/trace_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals {

std::vector<TracePart> parts_of(const RankEvents& rank) {
  std::vector<TracePart> parts;
  std::size_t begun = 0;
  do {
    TracePart& part = parts.emplace_back();
    part.rank = rank.rank;
    if (parts.size() == 1) {
      part.dropped = rank.dropped;
      part.texts = rank.texts;
    }
    const std::size_t count = std::min(rank.events.size() - begun, TracePart::kEventsMax);
    const auto bytes = std::as_bytes(std::span(rank.events).subspan(begun, count));
    part.events.assign(bytes.begin(), bytes.end());
    begun += count;
  } while (begun < rank.events.size());
  return parts;
}

void NodeTraces::add(TracePart part, std::uint32_t first, std::uint32_t ranks, std::uint64_t bytes_max) {
  const auto malformed = [](const std::string& what) {
    return Error(Errc::bad_input, "malformed message of a launcher: " + what);
  };
  if (part.rank - first >= ranks) throw malformed(fmt::format("the trace of rank {}, which is not its", part.rank));
  if (part.events.size() % sizeof(StoredEvent) != 0)
    throw malformed(fmt::format("{} bytes of events", part.events.size()));
  ranks_.resize(ranks);
  RankEvents& rank = ranks_[part.rank - first];
  rank.rank = part.rank;
  const std::size_t before = rank.events.size();
  const std::size_t more = part.events.size() / sizeof(StoredEvent);
  if ((before + more) * sizeof(StoredEvent) > bytes_max)
    throw malformed(fmt::format("{} events of rank {}", before + more, part.rank));
  rank.dropped += part.dropped;
  if (!part.texts.empty()) rank.texts = std::move(part.texts);
  rank.events.resize(before + more);
  if (more > 0) std::memcpy(rank.events.data() + before, part.events.data(), part.events.size());
}

std::vector<RankEvents> NodeTraces::take(std::uint32_t node) {
  for (RankEvents& rank : ranks_) {
    rank.node = node;
    for (StoredEvent& event : rank.events) event.ticks = clock_.on_head(event.ticks);
  }
  return std::exchange(ranks_, {});
}

}  // namespace coracle::internals
