// Rank 0 reads texts; everybody makes their own edges of a Kronecker graph.
#include "apps/bfs/input.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "apps/bfs/readers.hpp"
#include "apps/common/agreement.hpp"
#include "apps/common/file.hpp"

namespace coracle::bfs {
namespace {

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
  for (Vertex vertex = 0; vertex < names.size(); ++vertex) text.names.push_back(names.name(vertex));
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

}  // namespace

Vertex Input::find(std::string_view name) const {
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

std::string Input::name(Vertex vertex) const {
  return names.empty() ? std::to_string(vertex) : names[vertex];
}

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

}  // namespace coracle::bfs
