// Breadth-first search in a graph larger than memory: loads a graph, builds it, searches it from each root, and
// verifies what was found. apps/bfs/search.cpp is the heart; apps/bfs/paged_graph.cpp builds what it searches.
#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/bfs/edge.hpp"
#include "apps/bfs/paged_graph.hpp"
#include "apps/bfs/readers.hpp"
#include "apps/bfs/search.hpp"
#include "apps/bfs/user_interface.hpp"
#include "apps/common/file.hpp"
#include "apps/common/out_of_core.hpp"
#include "apps/common/program.hpp"
#include "apps/common/split_mix.hpp"

namespace coracle::bfs {
namespace {

/// The graph that the options name, at all ranks.
struct Input {
  std::uint64_t vertices = 0;
  std::unique_ptr<EdgeSource> source;
  std::vector<std::string> names;  ///< At rank 0; empty where vertices are called by their numbers.

  /// The vertex that is called so, or by a word up to its first dot (WordNet's first synset of that word); kNoVertex.
  Vertex find(std::string_view name) const {
    if (names.empty()) {
      std::uint64_t vertex = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), vertex);
      const bool fits = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() && vertex < vertices;
      return fits ? static_cast<Vertex>(vertex) : kNoVertex;
    }
    const auto whole = std::ranges::find(names, name);
    if (whole != names.end()) return static_cast<Vertex>(whole - names.begin());
    const auto word = std::ranges::find_if(
        names, [name](const std::string& one) { return std::string_view(one).substr(0, one.find('.')) == name; });
    return word != names.end() ? static_cast<Vertex>(word - names.begin()) : kNoVertex;
  }
  std::string name(Vertex vertex) const { return names.empty() ? std::to_string(vertex) : names[vertex]; }
};

constexpr std::size_t kTextBytes = 1 << 20;  // of one read

Direction direction_of(const Options& options) noexcept {
  return options.directed ? Direction::as_written : Direction::both_ways;
}

/// What rank 0 knows of a text.
struct Text {
  std::unique_ptr<File> file;
  std::vector<Edge> edges;  // that have not gone to the array yet
  std::vector<std::string> names;
  std::uint64_t room = 0;  // edges that there may be at most
  std::uint64_t stored = 0;
};

Task<> open_text(const Options& options, Text& text) {
  if (options.wordnet.empty()) {
    text.file = std::make_unique<File>(File::open(options.path));
    text.room = edges_possible(options.format, direction_of(options), text.file->bytes());
  } else {
    text.names = read_wordnet_folder(options.wordnet, [&text](Edge edge) { text.edges.push_back(edge); });
    text.room = text.edges.size() + 1;
  }
  co_return;
}

Task<> make_array(Team& team, PagedOptions options, std::uint64_t room, std::unique_ptr<PagedArray<Edge>>& array) {
  array = std::make_unique<PagedArray<Edge>>(co_await PagedArray<Edge>::create(team, std::move(options), room));
}

Task<> store(PagedArray<Edge>& array, Text& text) {
  co_await array.put(text.stored, std::span<const Edge>(text.edges));
  text.stored += text.edges.size();
  text.edges.clear();
}

Task<> read_text(Io& io, const Options& options, PagedArray<Edge>& array, Text& text) {
  if (!text.file) {
    co_await store(array, text);
    co_return;
  }
  Names names;
  const std::unique_ptr<EdgeReader> reader =
      make_reader(options.format, text.file->path(), names, direction_of(options),
                  [&text](Edge edge) { text.edges.push_back(edge); });
  std::string piece;
  const std::uint64_t bytes = text.file->bytes();
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min<std::uint64_t>(kTextBytes, bytes - at));
    co_await read_fully(io, *text.file, at, reinterpret_cast<std::byte*>(piece.data()), piece.size());
    reader->feed(piece);
    co_await store(array, text);
  }
  reader->finish();
  co_await store(array, text);
  text.names = names.all();
}

Task<Input> load_text(Rank& self, const Options& options, const ScratchFolder& folder) {
  Team& world = self.world();
  const bool leads = self.id() == 0;
  Text text;
  Task<> opening = leads ? open_text(options, text) : no_work();
  co_await agree_on(world, std::move(opening));
  std::uint64_t room = text.room;
  co_await world.broadcast(std::span(&room, 1), 0);
  PagedOptions paged;
  paged.path = folder.file("edges");
  paged.page_bytes = options.page_bytes;
  paged.cache_bytes = options.cache_bytes;
  std::unique_ptr<PagedArray<Edge>> array;
  co_await agree_on(world, make_array(world, std::move(paged), room, array));
  folder.forget_files();
  Task<> reading = leads ? read_text(self.loop().io(), options, *array, text) : no_work();
  co_await agree_on(world, std::move(reading));
  std::vector<std::uint64_t> sizes = {text.names.size(), text.stored};
  co_await world.broadcast(sizes, 0);
  Input input;
  input.vertices = sizes[0];
  input.source = std::make_unique<StoredEdges>(std::move(*array), sizes[1]);
  input.names = std::move(text.names);
  co_return input;
}

/// Collective; fails at all together (Agreed). A file is read by rank 0, piece by piece, and its edges go to a paged
/// array in `folder`.
Task<Input> load(Rank& self, const Options& options, const ScratchFolder& folder) {
  Input input;
  if (options.scale == 0) {
    input = co_await load_text(self, options, folder);
  } else {
    const Kronecker kronecker(options.scale, options.edge_factor, options.seed);
    input.vertices = kronecker.vertices();
    input.source = std::make_unique<KroneckerEdges>(kronecker);
  }
  co_return input;
}

/// All members' blocks at the first one.
template <class T>
Task<std::vector<T>> gather_all_of(Rank& self, const Ownership& ownership, std::span<const T> mine) {
  std::vector<T> all;
  std::vector<std::size_t> counts;
  if (self.id() == 0) {
    all.resize(ownership.vertices);
    for (std::uint32_t rank = 0; rank < self.size(); ++rank) counts.push_back(ownership.count(rank));
  }
  co_await self.world().gather_v(mine, std::span(all), counts, 0);
  co_return all;
}

/// One rank's view. Every step ends at all ranks together: well, or by Agreed.
class Traversal {
 public:
  Traversal(Rank& self, const Options& options)
      : self_(self), options_(options), progress_(!options.quiet && self.id() == 0) {}
  /// Collective, once. The report is whole at rank 0.
  Task<Report> run() {
    const ScratchFolder folder = co_await ScratchFolder::make(self_.world(), options_.scratch);
    std::uint64_t began_ns = self_.loop().exact_now_ns();
    input_ = co_await load(self_, options_, folder);
    report_.loading_s = lap(self_, began_ns);
    GraphOptions built;
    built.directed = options_.directed;
    built.memory = options_.memory;
    built.cache_bytes = options_.cache_bytes;
    built.page_bytes = options_.page_bytes;
    graph_ =
        std::make_unique<PagedGraph>(co_await PagedGraph::build(self_, *input_.source, input_.vertices, built, folder));
    report_.building_s = lap(self_, began_ns);
    const std::vector<Vertex> roots = co_await choose_roots();
    Task<> loading = options_.verify && self_.id() == 0 ? load_into_memory() : no_work();
    co_await agree_on(self_.world(), std::move(loading));
    report_.edges = input_.source->edges();
    co_await agree_on(self_.world(), input_.source->close());
    input_.source.reset();

    const PagedCounts before = graph_->targets().segment().counts();
    Search search(self_, *graph_);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      co_await search_from(search, roots[i]);
      progress_.show(i + 1, roots.size());
    }
    progress_.clear();
    co_await sum_counts(before);
    co_await agree_on(self_.world(), graph_->targets().close());
    report_.graph = describe_graph(options_);
    report_.vertices = input_.vertices;
    report_.arcs = graph_->arcs();
    report_.ranks = self_.size();
    report_.nodes = self_.nodes();
    report_.placement = to_string(self_.placement());
    report_.page_bytes = options_.page_bytes;
    report_.cache_bytes = options_.cache_bytes;
    report_.verified = options_.verify;
    co_return report_;
  }

 private:
  Task<std::vector<Vertex>> choose_roots() {
    std::vector<Vertex> roots;
    if (options_.root.empty()) {
      roots = co_await draw_roots();
    } else {
      Vertex root = 0;
      Task<> finding = self_.id() == 0 ? find_root(root) : no_work();
      co_await agree_on(self_.world(), std::move(finding));
      co_await self_.world().broadcast(std::span(&root, 1), 0);
      roots.push_back(root);
    }
    co_return roots;
  }
  Task<> find_root(Vertex& root) {
    root = input_.find(options_.root);
    if (root == kNoVertex)
      throw Error(Errc::bad_input, fmt::format("--root {}: there is no such vertex in {}; give one of its {}",
                                               options_.root, describe_graph(options_),
                                               input_.names.empty() ? "numbers, which count from 0" : "names"));
    co_return;
  }
  // Candidates are drawn by the seed; those without arcs of their own reach nothing and are passed over.
  Task<std::vector<Vertex>> draw_roots() {
    constexpr std::size_t kBatch = 1024;
    const std::uint64_t tries = 64 * (options_.roots + kBatch);
    SplitMix64 random(SplitMix64::at(options_.seed, 2));
    std::vector<Vertex> roots;
    const std::uint64_t first = graph_->ownership().first(self_.id());
    const std::uint64_t end = graph_->ownership().first(self_.id() + 1);
    for (std::uint64_t tried = 0; tried < tries && roots.size() < options_.roots; tried += kBatch) {
      std::vector<Vertex> candidates;
      std::vector<std::uint32_t> usable;
      for (std::size_t i = 0; i < kBatch; ++i) {
        const std::uint64_t vertex = random.below(input_.vertices);
        candidates.push_back(static_cast<Vertex>(vertex));
        usable.push_back(vertex >= first && vertex < end && graph_->degree(vertex - first) > 0 ? 1 : 0);
      }
      co_await self_.world().all_reduce(usable, max_of);
      for (std::size_t i = 0; i < kBatch && roots.size() < options_.roots; ++i) {
        if (usable[i] != 0 && std::ranges::find(roots, candidates[i]) == roots.end()) roots.push_back(candidates[i]);
      }
    }
    if (roots.empty()) roots.push_back(0);  // hardly any vertex has an arc
    co_return roots;
  }
  Task<> search_from(Search& search, Vertex root) {
    co_await self_.world().barrier();
    std::uint64_t began_ns = self_.loop().exact_now_ns();
    co_await search.run(root);
    Report::Found found;
    found.seconds = lap(self_, began_ns);
    const std::uint64_t first = graph_->ownership().first(self_.id());
    std::uint64_t reached = 0;
    std::uint64_t arcs = 0;
    std::uint64_t digest = 0;
    for (std::size_t i = 0; i < search.levels().size(); ++i) {
      if (search.levels()[i] == kUnreached) continue;
      ++reached;
      arcs += graph_->degree(i);
      const std::uint64_t tree = std::uint64_t{search.levels()[i]} << 32U | search.parents()[i];
      digest += SplitMix64::at(tree, first + i);
    }
    std::vector<std::uint64_t> sums = {reached, arcs, digest};
    co_await self_.world().all_reduce(sums, std::plus<>{});
    found.root = self_.id() == 0 ? input_.name(root) : "";
    found.reached = sums[0];
    found.edges = options_.directed ? sums[1] : sums[1] / 2;
    found.digest = sums[2];
    found.levels = search.level_sizes();
    report_.searches.push_back(std::move(found));
    if (options_.verify) co_await verify(search, root);
  }
  Task<> load_into_memory() {
    std::vector<Edge> edges(input_.source->edges());
    co_await input_.source->read(0, std::span(edges));
    in_memory_ = std::make_unique<MemoryGraph>(input_.vertices, edges, options_.directed);
  }
  Task<> verify(Search& search, Vertex root) {
    const std::vector<std::uint32_t> levels = co_await gather_all_of(self_, graph_->ownership(), search.levels());
    const std::vector<Vertex> parents = co_await gather_all_of(self_, graph_->ownership(), search.parents());
    Task<> checking = self_.id() == 0 ? check(root, levels, parents) : no_work();
    co_await agree_on(self_.world(), std::move(checking));
  }
  Task<> check(Vertex root, const std::vector<std::uint32_t>& levels, const std::vector<Vertex>& parents) {
    check_search(*in_memory_, root, levels, parents);
    co_return;
  }
  // The ranks of a node share a cache, but in sim: they count its pages together, and each its own hits.
  Task<> sum_counts(PagedCounts before) {
    const PagedCounts after = graph_->targets().segment().counts();
    const bool speaks =
        self_.id() == 0 || self_.node() != self_.node_of(self_.id() - 1) || self_.placement() == Placement::sim;
    PagedCounts mine = since(before, after);
    if (!speaks) mine = {.hits = mine.hits};
    report_.counts = co_await sum_of(self_.world(), mine);
  }

  Rank& self_;
  const Options& options_;
  ProgressLine progress_;
  Input input_;
  std::unique_ptr<PagedGraph> graph_;
  std::unique_ptr<MemoryGraph> in_memory_;  // at rank 0, to verify
  Report report_;
};

Task<> traverse(Rank& self, const Options& options) {
  Traversal traversal(self, options);
  tell(self, co_await traversal.run(), options);
}

Task<> run_all(Rank& self, const Options& options) {
  return run_agreed(self, traverse(self, options));
}

}  // namespace

}  // namespace coracle::bfs

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::bfs::parse_options(argc, argv), coracle::bfs::run_all);
}
