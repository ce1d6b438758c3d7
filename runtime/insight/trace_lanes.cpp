// The lowest lane that has room, but rather the one in which the task was before.
#include "runtime/insight/trace_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace coracle::internals {
namespace {

constexpr std::size_t kGroups = static_cast<std::size_t>(LaneGroup::dma) + 1;
constexpr std::array<const char*, kGroups> kGroupNames{"rank",   "tasks", "messages", "operations",
                                                       "chunks", "pages", "DMA"};

/// A row as it is being filled: what is open in it, the innermost last.
class Lane {
 public:
  bool take(const TraceSpan& span, bool may_nest) {
    while (!open_.empty() && open_.back().end_ns <= span.begin_ns) open_.pop_back();
    if (!open_.empty()) {
      const Open& around = open_.back();
      if (!may_nest || around.task != span.begin.task || around.end_ns < span.end_ns) return false;
    }
    open_.push_back({span.end_ns, span.begin.task});
    return true;
  }

 private:
  struct Open {
    std::uint64_t end_ns;
    std::uint64_t task;
  };
  std::vector<Open> open_;
};

class Lanes {
 public:
  explicit Lanes(LaneGroup group) noexcept : group_(group) {}

  /// `first`: the lowest lane that it may have.
  std::uint32_t take(const TraceSpan& span, std::size_t first) {
    const bool may_nest = group_ == LaneGroup::tasks || group_ == LaneGroup::rank;
    const std::uint64_t task = span.begin.task;
    const auto before = group_ == LaneGroup::tasks ? of_task_.find(task) : of_task_.end();
    if (before != of_task_.end() && lanes_[before->second].take(span, may_nest)) return number(before->second);
    if (lanes_.size() < first) lanes_.resize(first);
    std::size_t index = first;
    while (index < lanes_.size() && !lanes_[index].take(span, may_nest)) ++index;
    if (index == lanes_.size()) lanes_.emplace_back().take(span, may_nest);
    if (group_ == LaneGroup::tasks) of_task_[task] = index;
    return number(index);
  }

 private:
  std::uint32_t number(std::size_t index) const noexcept {
    const auto within = static_cast<std::uint32_t>(std::min<std::size_t>(index, kLanesMax - 1));
    return static_cast<std::uint32_t>(group_) * kLanesMax + within;
  }

  LaneGroup group_;
  std::vector<Lane> lanes_;
  std::unordered_map<std::uint64_t, std::size_t> of_task_;
};

}  // namespace

LaneGroup group_of(coracle_event_kind kind) noexcept {
  switch (kind) {
    case CORACLE_SPAN_BEGIN:
    case CORACLE_WAIT_BEGIN:
    case CORACLE_COLLECTIVE_BEGIN:
    case CORACLE_PHASE_BEGIN:
      return LaneGroup::tasks;
    case CORACLE_SEND_BEGIN:
    case CORACLE_RECEIVE_BEGIN:
      return LaneGroup::messages;
    case CORACLE_OPERATION_BEGIN:
      return LaneGroup::operations;
    case CORACLE_CHUNK_BEGIN:
      return LaneGroup::chunks;
    case CORACLE_PAGE_MISS_BEGIN:
      return LaneGroup::pages;
    case CORACLE_DMA_BEGIN:
      return LaneGroup::dma;
    default:
      return LaneGroup::rank;
  }
}

std::string name_of_lane(std::uint32_t lane) {
  const char* const group = kGroupNames[std::min<std::size_t>(lane / kLanesMax, kGroups - 1)];
  const std::uint32_t within = lane % kLanesMax;
  return within == 0 ? group : fmt::format("{} {}", group, within + 1);
}

namespace {

/// Tasks that have called a collective, sent a message or named a span: the program's rather than the library's own.
std::unordered_set<std::uint64_t> tasks_of_program(std::span<const TraceSpan> spans) {
  std::unordered_set<std::uint64_t> tasks;
  for (const TraceSpan& span : spans) {
    const coracle_event_kind kind = span.kind();
    if (kind == CORACLE_SPAN_BEGIN || kind == CORACLE_COLLECTIVE_BEGIN || kind == CORACLE_SEND_BEGIN)
      tasks.insert(span.begin.task);
  }
  return tasks;
}

}  // namespace

void set_lanes(std::span<TraceSpan> spans) {
  const std::unordered_set<std::uint64_t> of_program = tasks_of_program(spans);
  std::vector<std::size_t> order(spans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Of those that begin together the longest is around the others.
  std::ranges::stable_sort(order, [spans](std::size_t a, std::size_t b) {
    return std::pair(spans[a].begin_ns, ~spans[a].end_ns) < std::pair(spans[b].begin_ns, ~spans[b].end_ns);
  });
  std::vector<Lanes> groups;
  for (std::size_t group = 0; group < kGroups; ++group) groups.emplace_back(static_cast<LaneGroup>(group));
  for (const std::size_t index : order) {
    TraceSpan& span = spans[index];
    const LaneGroup group = group_of(span.kind());
    const bool comes_later = group == LaneGroup::tasks && !of_program.empty() && !of_program.contains(span.begin.task);
    span.lane = groups[static_cast<std::size_t>(group)].take(span, comes_later ? 1 : 0);
  }
}

}  // namespace coracle::internals
