// Spans of a row lie in each other or side by side: a stack of what is open makes enters and leaves of them.
#include "apps/coracle/otf2/rank_rows.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "runtime/insight/trace_lanes.hpp"

namespace coracle::internals {
namespace {

using Spans = std::vector<const TraceSpan*>;

constexpr std::uint32_t kFirstRow = static_cast<std::uint32_t>(LaneGroup::tasks) * kLanesMax;

class Nesting {
 public:
  std::vector<RowEvent> events_of(const Spans& spans) {
    for (const TraceSpan* span : spans) {
      while (!open_.empty() && open_.back()->end_ns <= span->begin_ns) leave();
      add(span->begin_ns, RowEvent::What::enter, span);
      open_.push_back(span);
    }
    while (!open_.empty()) leave();
    return std::move(events_);
  }

 private:
  void leave() {
    add(open_.back()->end_ns, RowEvent::What::leave, open_.back());
    open_.pop_back();
  }
  // Not before what came last: beyond kLanesMax rows spans may overlap.
  void add(std::uint64_t ns, RowEvent::What what, const TraceSpan* span) {
    events_.push_back({events_.empty() ? ns : std::max(ns, events_.back().ns), what, span});
  }

  std::vector<RowEvent> events_;
  Spans open_;
};

bool is_around_or_before(const TraceSpan* a, const TraceSpan* b) noexcept {
  return std::pair(a->begin_ns, ~a->end_ns) < std::pair(b->begin_ns, ~b->end_ns);
}

void add_messages(const Spans& messages, std::vector<RowEvent>& events) {
  std::vector<RowEvent> moments;
  for (const TraceSpan* span : messages) moments.push_back({span->begin_ns, RowEvent::What::message, span});
  std::vector<RowEvent> all;
  std::ranges::merge(events, moments, std::back_inserter(all), {}, &RowEvent::ns, &RowEvent::ns);
  events = std::move(all);
}

}  // namespace

std::vector<RankRow> rows_of(const std::vector<TraceSpan>& spans) {
  std::map<std::uint32_t, Spans> of_lanes;
  Spans messages;
  for (const TraceSpan& span : spans) {
    of_lanes[span.lane].push_back(&span);
    if (StoredEvent::is_message(span.begin.kind)) messages.push_back(&span);
  }
  std::vector<RankRow> rows(1);
  rows.front().lane = kFirstRow;
  for (auto& [lane, of_lane] : of_lanes) {
    std::ranges::stable_sort(of_lane, is_around_or_before);
    std::vector<RowEvent> events = Nesting().events_of(of_lane);
    if (lane == kFirstRow)
      rows.front().events = std::move(events);
    else
      rows.push_back({lane, std::move(events)});
  }
  std::ranges::stable_sort(messages, {}, &TraceSpan::begin_ns);
  add_messages(messages, rows.front().events);
  return rows;
}

}  // namespace coracle::internals
