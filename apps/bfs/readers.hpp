// Graphs as texts: lists of edges, DIMACS' and Matrix Market's files of any length, and WordNet's synsets with their
// pointers. What is malformed throws Error (bad_input) with file, line, what is wrong and how to mend it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/asp/text_lines.hpp"
#include "apps/bfs/edge.hpp"

namespace coracle::bfs {

using EdgeSink = std::function<void(Edge)>;

using asp::Names;

/// How a text is written.
enum class TextFormat { edge_list, dimacs, matrix_market };

/// How the edges of a text are followed.
enum class Direction { as_written, both_ways };

/// By extension: .gr is DIMACS, .mtx Matrix Market, anything else a list of edges.
TextFormat format_of_path(std::string_view path) noexcept;

/// A graph's text that comes in pieces. Weights are not looked at, but that they are numbers.
class EdgeReader {
 public:
  virtual ~EdgeReader() = default;
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;

  /// `name`: of the file, for messages. The reference must outlive it.
  EdgeReader(std::string name, Names& names, EdgeSink sink);

  /// The next part of the text, cut anywhere.
  void feed(std::string_view text);
  /// Behind the last.
  void finish();

 protected:
  void add(asp::TextLines& lines, std::string_view from, std::string_view to);

 private:
  /// The line that `lines` has come to.
  virtual void take_line(asp::TextLines& lines) = 0;
  /// Behind the last line: complains of what is missing.
  virtual void check_whole(const asp::TextLines& /*lines*/) const {}
  void take_lines(std::string_view lines);

  std::string name_;
  Names& names_;
  EdgeSink sink_;
  std::string rest_;  // the beginning of a line whose end has not come
  std::size_t lines_ = 0;
  std::uint64_t edges_ = 0;
  bool has_begun_ = false;
};

/// As asp reads them. In DIMACS' and Matrix Market's files vertices are called by their numbers, and only those of
/// edges are there. An entry of a symmetric matrix is one edge that is followed both ways, or two that are followed as
/// written.
std::unique_ptr<EdgeReader> make_reader(TextFormat format, std::string name, Names& names, Direction direction,
                                        EdgeSink sink);

/// So many edges at most does a text of `bytes` hold.
std::uint64_t edges_possible(TextFormat format, Direction direction, std::uint64_t bytes) noexcept;

/// One of WordNet's files data.noun, data.verb, data.adj, data.adv (`man wndb`): an edge for each pointer from synset
/// to synset. A synset is called by its first word, part of speech and offset, such as "dog.n.02084071".
void read_wordnet(const std::string& name, std::string_view text, std::unordered_map<std::uint64_t, Vertex>& synsets,
                  std::vector<std::string>& names, const EdgeSink& sink);

/// All four of `folder` (Debian: /usr/share/wordnet); gives the names of the vertices.
std::vector<std::string> read_wordnet_folder(const std::string& folder, const EdgeSink& sink);

}  // namespace coracle::bfs
