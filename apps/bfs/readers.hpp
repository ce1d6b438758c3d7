// Graphs as texts: lists of edges of any length, and WordNet's synsets with their pointers. What is malformed throws
// Error (bad_input) with file, line, what is wrong and how to mend it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/bfs/edge.hpp"

namespace coracle::bfs {

using EdgeSink = std::function<void(Edge)>;

/// Numbers by names, in the order in which they are first seen; keeps the names.
class Names {
 public:
  Vertex number(std::string_view name);
  /// kNoVertex: nobody has that name.
  Vertex find(std::string_view name) const;
  const std::string& name(Vertex vertex) const { return *names_[vertex]; }
  std::uint64_t size() const noexcept { return names_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, Vertex, Hash, std::equal_to<>> numbers_;
  std::vector<const std::string*> names_;  // keys of numbers_, which stay where they are
};

/// `FROM TO [WEIGHT]` per line, as asp reads them; weights are not looked at. Comes in pieces.
class EdgeListReader {
 public:
  /// `name`: of the file, for messages. Both references must outlive it.
  EdgeListReader(std::string name, Names& names, EdgeSink sink);
  /// The next part of the text, cut anywhere.
  void feed(std::string_view text);
  /// Behind the last.
  void finish();

 private:
  void take_lines(std::string_view lines);

  std::string name_;
  Names& names_;
  EdgeSink sink_;
  std::string rest_;  // the beginning of a line whose end has not come
  std::size_t lines_ = 0;
  std::uint64_t edges_ = 0;
};

/// One of WordNet's files data.noun, data.verb, data.adj, data.adv (`man wndb`): an edge for each pointer from synset
/// to synset. A synset is called by its first word, part of speech and offset, such as "dog.n.02084071".
void read_wordnet(const std::string& name, std::string_view text, std::unordered_map<std::uint64_t, Vertex>& synsets,
                  std::vector<std::string>& names, const EdgeSink& sink);

/// All four of `folder` (Debian: /usr/share/wordnet); gives the names of the vertices.
std::vector<std::string> read_wordnet_folder(const std::string& folder, const EdgeSink& sink);

}  // namespace coracle::bfs
