// Built in three passes over what is on the SSD, none of which has more than a part in memory: arcs are counted at
// their owners; then they come again and go, by parts of the vertices, into a second paged array; then each part is
// sorted by vertex in memory and written to its place.
#include "apps/bfs/paged_graph.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "apps/bfs/edge.hpp"
#include "apps/common/out_of_core.hpp"

namespace coracle::bfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;                      // of one get or put
constexpr std::size_t kPieces = 4;                                  // in flight
constexpr std::uint64_t kArcBytes = sizeof(Edge) + sizeof(Vertex);  // of a part's arc while it is sorted

template <class T, class Move>
Task<> move_pieces(std::span<T> elements, Move move) {
  const std::size_t each = kPieceBytes / sizeof(T);
  const auto piece = [elements, each, &move](std::size_t i) {
    return move(i * each, elements.subspan(i * each, std::min(each, elements.size() - i * each)));
  };
  co_await for_each_in_flight((elements.size() + each - 1) / each, kPieces, piece);
}

class Builder {
 public:
  Builder(Rank& self, EdgeSource& source, std::uint64_t vertices, const GraphOptions& options,
          const ScratchFolder& folder)
      : self_(self), source_(source), options_(options), folder_(folder), ownership_{vertices, self.size()} {}

  Task<> build() {
    Team& world = self_.world();
    first_arc_.assign(ownership_.count(self_.id()) + 1, 0);
    co_await for_all_arcs(&Builder::count);
    const std::uint64_t own = co_await number_arcs();
    co_await agree_on(world, make_arrays());
    parts_ = parts_of(first_arc_, options_.memory / 2);
    const std::uint64_t parts = std::max<std::uint64_t>(parts_.size() - 1, 1);
    buffered_ = std::max<std::uint64_t>(
        1, std::min({options_.page_bytes, options_.memory / 4 / parts, own * sizeof(Edge)}) / sizeof(Edge));
    buffers_.resize(parts);
    for (std::uint64_t part = 0; part + 1 < parts_.size(); ++part) next_.push_back(first_arc_[parts_[part]]);
    co_await for_all_arcs(&Builder::stage);
    co_await agree_on(world, flush_buffers());
    co_await agree_on(world, sort_parts());
    co_await agree_on(world, staged_->close());
  }

  std::uint64_t arcs = 0;
  std::unique_ptr<PagedArray<Vertex>> targets;
  std::vector<std::uint64_t> take_first_arc() noexcept { return std::move(first_arc_); }
  const Ownership& ownership() const noexcept { return ownership_; }

 private:
  using Take = Task<> (Builder::*)();

  /// Calls `take` with the arcs of each round in incoming_.
  Task<> for_all_arcs(Take take) {
    const std::uint64_t edges = source_.edges();
    const std::uint64_t each = (edges + self_.size() - 1) / self_.size();
    std::uint64_t first = std::min(edges, each * self_.id());
    const std::uint64_t end = std::min(edges, first + each);
    const std::uint64_t chunk = std::clamp<std::uint64_t>(options_.memory / 64 / self_.size(), 1024, 1 << 20);
    outgoing_.resize(self_.size());
    std::exception_ptr error;
    while (co_await agree_on_more(self_.world(), error, first < end)) {
      const std::uint64_t count = std::min(chunk, end - first);
      error = co_await error_of(send(first, count));
      first += count;
      co_await exchange(self_.world(), outgoing_, incoming_);
      if (error) continue;
      error = co_await error_of((this->*take)());
    }
  }

  Task<> send(std::uint64_t first, std::uint64_t count) {
    edges_.resize(count);
    co_await source_.read(first, std::span(edges_));
    for (const Edge& edge : edges_) {
      if (edge.from == edge.to) continue;
      outgoing_[ownership_.owner(edge.from)].push_back(edge);
      if (!options_.directed) outgoing_[ownership_.owner(edge.to)].push_back({edge.to, edge.from});
    }
  }

  std::uint64_t own_index(Vertex vertex) const noexcept { return vertex - ownership_.first(self_.id()); }

  Task<> count() {
    for (const Edge& arc : incoming_) ++first_arc_[own_index(arc.from) + 1];
    co_return;
  }

  /// Counts become places; gives the number of own arcs.
  Task<std::uint64_t> number_arcs() {
    for (std::size_t i = 1; i < first_arc_.size(); ++i) first_arc_[i] += first_arc_[i - 1];
    const std::uint64_t own = first_arc_.back();
    const std::vector<std::uint64_t> all = co_await self_.world().gather_all(std::uint64_t{own});
    std::uint64_t before = 0;
    for (std::uint32_t rank = 0; rank < self_.size(); ++rank) {
      if (rank < self_.id()) before += all[rank];
      arcs += all[rank];
    }
    for (std::uint64_t& place : first_arc_) place += before;
    co_return own;
  }

  PagedOptions paged(const char* name) const {
    PagedOptions options;
    options.path = folder_.file(name);
    options.page_bytes = options_.page_bytes;
    options.cache_bytes = options_.cache_bytes;
    options.spread = HomeSpread::block;  // arcs are near the owners of their vertices
    return options;
  }

  Task<> make_arrays() {
    const std::uint64_t room = std::max<std::uint64_t>(arcs, 1);
    targets = std::make_unique<PagedArray<Vertex>>(
        co_await PagedArray<Vertex>::create(self_.world(), paged("targets"), room));
    staged_ = std::make_unique<PagedArray<Edge>>(co_await PagedArray<Edge>::create(self_.world(), paged("arcs"), room));
    folder_.forget_files();
  }

  Task<> stage() {
    for (const Edge& arc : incoming_) {
      const auto behind = std::upper_bound(parts_.begin(), parts_.end(), own_index(arc.from));
      const auto part = static_cast<std::size_t>(behind - parts_.begin() - 1);
      std::vector<Edge>& buffer = buffers_[part];
      buffer.push_back(arc);
      // Up to a border of the buffers' size, so that a page is written in as few parts as can be.
      if ((next_[part] + buffer.size()) % buffered_ == 0) co_await flush(part);
    }
  }

  Task<> flush(std::size_t part) {
    std::vector<Edge>& buffer = buffers_[part];
    co_await staged_->put(next_[part], std::span<const Edge>(buffer));
    next_[part] += buffer.size();
    buffer.clear();
  }

  Task<> flush_buffers() {
    for (std::size_t part = 0; part < next_.size(); ++part) co_await flush(part);
    std::vector<std::vector<Edge>>().swap(buffers_);
  }

  Task<> sort_parts() {
    for (std::size_t part = 0; part + 1 < parts_.size(); ++part) co_await sort_part(parts_[part], parts_[part + 1]);
  }

  Task<> sort_part(std::uint64_t first, std::uint64_t end) {
    const std::uint64_t begin = first_arc_[first];
    std::vector<Edge> arcs_here(first_arc_[end] - begin);
    PagedArray<Edge>& staged = *staged_;
    co_await move_pieces(std::span(arcs_here), [&staged, begin](std::uint64_t at, std::span<Edge> piece) {
      return as_task(staged.get(begin + at, piece));
    });
    std::vector<Vertex> sorted(arcs_here.size());
    std::vector<std::uint64_t> next(first_arc_.begin() + static_cast<std::ptrdiff_t>(first),
                                    first_arc_.begin() + static_cast<std::ptrdiff_t>(end));
    for (const Edge& arc : arcs_here) sorted[next[own_index(arc.from) - first]++ - begin] = arc.to;
    for (std::uint64_t vertex = first; vertex < end; ++vertex) {
      std::ranges::sort(
          std::span(sorted).subspan(first_arc_[vertex] - begin, first_arc_[vertex + 1] - first_arc_[vertex]));
    }
    PagedArray<Vertex>& all = *targets;
    co_await move_pieces(std::span(sorted), [&all, begin](std::uint64_t at, std::span<Vertex> piece) {
      return as_task(all.put(begin + at, std::span<const Vertex>(piece)));
    });
  }

  Rank& self_;
  EdgeSource& source_;
  const GraphOptions& options_;
  const ScratchFolder& folder_;
  Ownership ownership_;
  std::vector<std::uint64_t> first_arc_;
  std::vector<std::uint64_t> parts_;
  std::vector<std::uint64_t> next_;  // by part: where its next staged arc goes
  std::vector<std::vector<Edge>> buffers_;
  std::uint64_t buffered_ = 1;  // arcs
  std::unique_ptr<PagedArray<Edge>> staged_;
  std::vector<Edge> edges_;
  std::vector<std::vector<Edge>> outgoing_;
  std::vector<Edge> incoming_;
};

}  // namespace

std::vector<std::uint64_t> parts_of(std::span<const std::uint64_t> first_arc, std::uint64_t bytes) {
  std::vector<std::uint64_t> parts = {0};
  const std::uint64_t vertices = first_arc.size() - 1;
  if (vertices == 0) return parts;
  for (std::uint64_t vertex = 1; vertex < vertices; ++vertex) {
    const std::uint64_t arcs = first_arc[vertex + 1] - first_arc[parts.back()];
    const std::uint64_t own = vertex + 1 - parts.back();
    if (arcs * kArcBytes + own * sizeof(std::uint64_t) > bytes) parts.push_back(vertex);
  }
  parts.push_back(vertices);
  return parts;
}

Task<PagedGraph> PagedGraph::build(Rank& self, EdgeSource& source, std::uint64_t vertices, GraphOptions options,
                                   const ScratchFolder& folder) {
  Builder builder(self, source, vertices, options, folder);
  co_await builder.build();
  PagedGraph graph(builder.ownership(), builder.arcs, builder.take_first_arc(), std::move(*builder.targets));
  co_return graph;
}

}  // namespace coracle::bfs
