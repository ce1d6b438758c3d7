// Rounds of bounded queues, as many as a level needs; and the serial search.
#include "apps/bfs/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <functional>

#include <coracle/error.hpp>
#include "apps/bfs/edge.hpp"
#include "apps/common/out_of_core.hpp"
#include "apps/common/program.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::bfs {

Search::Search(Rank& self, PagedGraph& graph)
    : self_(self),
      graph_(graph),
      ownership_(graph.ownership()),
      first_(static_cast<Vertex>(ownership_.first(self.id()))),
      end_(static_cast<Vertex>(ownership_.first(self.id() + 1))),
      readers_(kReads),
      outgoing_(self.size()) {}

void Search::begin(Vertex root) {
  const std::uint64_t own = end_ - first_;
  const std::uint64_t words = (ownership_.vertices + 63) / 64;
  levels_.assign(own, kUnreached);
  parents_.assign(own, kNoVertex);
  told_.assign(words, 0);
  told_now_.assign(words, 0);
  level_sizes_ = {1};
  level_ = 0;
  frontier_.clear();
  next_frontier_.clear();
  if (root < first_ || root >= end_) return;
  levels_[root - first_] = 0;
  parents_[root - first_] = root;
  frontier_.push_back(root);
}

Task<> Search::run(Vertex root) {
  begin(root);
  while (level_sizes_.back() > 0) {
    cursor_ = 0;
    for (Reader& reader : readers_) reader.next = reader.end = 0;
    std::exception_ptr error;
    while (co_await agree_on_more(self_.world(), error, has_more())) {
      error = co_await error_of(expand());
      queued_ = 0;
      co_await exchange(self_.world(), outgoing_, incoming_);
      for (const Edge& found : incoming_) reach(found.to, found.from);
    }
    co_await finish_level();
  }
  level_sizes_.pop_back();
}

bool Search::has_more() const noexcept {
  return cursor_ < frontier_.size() ||
         std::ranges::any_of(readers_, [](const Reader& reader) { return reader.next < reader.end; });
}

Task<> Search::expand() {
  co_await for_each_in_flight(readers_.size(), readers_.size(), [this](std::size_t i) { return read(readers_[i]); });
}

Task<> Search::read(Reader& reader) {
  while (queued_ < kQueuedMax) {
    if (reader.next == reader.end) {
      if (cursor_ == frontier_.size()) co_return;
      reader.vertex = frontier_[cursor_++];
      reader.next = graph_.first_arc(reader.vertex - first_);
      reader.end = reader.next + graph_.degree(reader.vertex - first_);
      continue;
    }
    const std::uint64_t count = std::min<std::uint64_t>(kReadTargets, reader.end - reader.next);
    const std::span<Vertex> targets = std::span(reader.targets).first(count);
    co_await graph_.targets().get(reader.next, targets);
    reader.next += count;
    offer(reader.vertex, targets);
  }
}

void Search::offer(Vertex parent, std::span<const Vertex> targets) {
  for (const Vertex target : targets) {
    if (target >= first_ && target < end_) {
      reach(target, parent);
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << (target % 64);
    if ((told_[target / 64] & bit) != 0) continue;
    told_now_[target / 64] |= bit;
    outgoing_[ownership_.owner(target)].push_back({parent, target});
    ++queued_;
  }
}

void Search::reach(Vertex vertex, Vertex parent) {
  std::uint32_t& level = levels_[vertex - first_];
  Vertex& known = parents_[vertex - first_];
  if (level == kUnreached) {
    level = level_ + 1;
    known = parent;
    next_frontier_.push_back(vertex);
  } else if (level == level_ + 1) {
    known = std::min(known, parent);
  }
}

Task<> Search::finish_level() {
  for (std::size_t i = 0; i < told_.size(); ++i) told_[i] |= told_now_[i];
  frontier_.swap(next_frontier_);
  next_frontier_.clear();
  std::ranges::sort(frontier_);  // their arcs lie in this order
  ++level_;
  const std::uint64_t found = co_await self_.world().all_reduce(std::uint64_t{frontier_.size()}, std::plus<>{});
  level_sizes_.push_back(found);
}

MemoryGraph::MemoryGraph(std::uint64_t vertices, std::span<const Edge> edges, bool directed) : first_(vertices + 1) {
  const auto for_arcs = [edges, directed](auto take) {
    for (const Edge& edge : edges) {
      take(edge.from, edge.to);
      if (!directed) take(edge.to, edge.from);
    }
  };
  for_arcs([this](Vertex from, Vertex) { ++first_[from + 1]; });
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) first_[vertex + 1] += first_[vertex];
  targets_.resize(first_.back());
  std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
  for_arcs([this, &next](Vertex from, Vertex to) { targets_[next[from]++] = to; });
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    std::ranges::sort(std::span(targets_).subspan(first_[vertex], first_[vertex + 1] - first_[vertex]));
  }
}

std::vector<std::uint32_t> MemoryGraph::levels(Vertex root) const {
  std::vector<std::uint32_t> levels(vertices(), kUnreached);
  levels[root] = 0;
  std::vector<Vertex> queue = {root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Vertex target : targets(queue[head])) {
      if (levels[target] != kUnreached) continue;
      levels[target] = levels[queue[head]] + 1;
      queue.push_back(target);
    }
  }
  return levels;
}

namespace {

[[noreturn]] void fail(Vertex vertex, const std::string& what) {
  throw_mistake("bfs", fmt::format("vertex {}: {}", vertex, what));
}

}  // namespace

void check_search(const MemoryGraph& graph, Vertex root, std::span<const std::uint32_t> levels,
                  std::span<const Vertex> parents) {
  CORACLE_ASSERT(levels.size() == graph.vertices() && parents.size() == levels.size(), "{} levels, {} parents of {}",
                 levels.size(), parents.size(), graph.vertices());
  const std::vector<std::uint32_t> expected = graph.levels(root);
  for (Vertex vertex = 0; vertex < levels.size(); ++vertex) {
    const Vertex parent = parents[vertex];
    if (levels[vertex] != expected[vertex])
      fail(vertex, fmt::format("its level is {}, but {} by a serial search", levels[vertex], expected[vertex]));
    if (vertex == root ? parent != root : (parent == kNoVertex) != (levels[vertex] == kUnreached))
      fail(vertex, fmt::format("on level {} its parent is {}", levels[vertex], parent));
    if (vertex == root || parent == kNoVertex) continue;
    if (parent >= levels.size() || levels[parent] + 1 != levels[vertex])
      fail(vertex, fmt::format("its parent {} is not on the level before", parent));
    if (!std::ranges::binary_search(graph.targets(parent), vertex))
      fail(vertex, fmt::format("no edge leads to it from its parent {}", parent));
  }
}

}  // namespace coracle::bfs
