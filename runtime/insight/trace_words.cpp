// One place for the words, so that the formats agree.
#include "runtime/insight/trace_words.hpp"

#include <fmt/format.h>

namespace coracle::internals {
namespace {

constexpr const char* way_of(std::uint16_t way) noexcept {
  switch (way) {
    case CORACLE_PAGE_FROM_PEER:
      return "from a peer";
    case CORACLE_PAGE_FROM_FILE:
      return "from its file";
    case CORACLE_PAGE_FRESH:
      return "fresh";
    default:
      return "on its way";
  }
}

std::string_view name_of_peer(coracle_event_kind kind) noexcept {
  if (kind == CORACLE_COLLECTIVE_BEGIN) return "root";
  return kind == CORACLE_PHASE_BEGIN ? "leader" : "peer";
}

}  // namespace

TraceWords words_of(const TraceSpan& span, const RankEvents& rank) {
  const std::string& name = rank.text(span.begin.name());
  const auto named = [&name](const char* other) { return name.empty() ? std::string(other) : name; };
  switch (span.kind()) {
    case CORACLE_RANK_BEGIN:
      return {"rank", "rank"};
    case CORACLE_SPAN_BEGIN:
      return {named("span"), "span"};
    case CORACLE_WAIT_BEGIN:
      return {"wait: " + named("something"), "wait"};
    case CORACLE_OPERATION_BEGIN:
      return {named("operation"), "operation"};
    case CORACLE_SEND_BEGIN:
      return {fmt::format("send to {}", span.begin.peer), "message"};
    case CORACLE_RECEIVE_BEGIN:
      return {fmt::format("receive from {}", span.begin.peer), "message"};
    case CORACLE_COLLECTIVE_BEGIN:
      return {named("collective"), "collective"};
    case CORACLE_PHASE_BEGIN:
      return {named("phase"), "phase"};
    case CORACLE_CHUNK_BEGIN:
      return {fmt::format("chunk {}", span.begin.number), "chunk"};
    case CORACLE_PAGE_MISS_BEGIN:
      return {fmt::format("page miss {}", way_of(span.end.what)), "page"};
    case CORACLE_DMA_BEGIN:
      return {named("DMA table"), "dma"};
    case CORACLE_SLEEP_BEGIN:
      return {"sleep", "sleep"};
    default:
      return {"?", "?"};
  }
}

std::vector<TraceArgument> arguments_of(const TraceSpan& span) {
  const StoredEvent& begin = span.begin;
  std::vector<TraceArgument> arguments;
  const auto add = [&arguments](std::string_view name, auto value) { arguments.push_back({name, value}); };
  if (begin.peer != CORACLE_NOBODY) add(name_of_peer(span.kind()), std::uint64_t{begin.peer});
  if (begin.bytes != 0) add("bytes", begin.bytes);
  if (begin.number != 0 || span.kind() == CORACLE_PAGE_MISS_BEGIN || span.kind() == CORACLE_CHUNK_BEGIN)
    add("number", begin.number);
  if (StoredEvent::is_message(begin.kind)) {
    add("tag", begin.tag);
    add("team", begin.place);
  }
  if (span.kind() == CORACLE_COLLECTIVE_BEGIN) add("team", begin.id >> 32);
  if (span.kind() == CORACLE_PAGE_MISS_BEGIN && span.end.peer != CORACLE_NOBODY && span.is_closed)
    add("from", std::uint64_t{span.end.peer});
  if (span.kind() == CORACLE_OPERATION_BEGIN && span.end.number != 0) add("failed", true);
  if (!span.is_closed) add("unfinished", true);
  return arguments;
}

Flow flow_of(std::string_view collective) noexcept {
  if (collective == "broadcast" || collective == "scatter" || collective == "scatter_v") return Flow::from_root;
  if (collective == "reduce" || collective == "gather" || collective == "gather_v") return Flow::to_root;
  return Flow::none;
}

}  // namespace coracle::internals
