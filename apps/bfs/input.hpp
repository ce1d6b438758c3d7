// The graph that the options name, at all ranks.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bfs/edge.hpp"
#include "apps/bfs/edge_source.hpp"
#include "apps/bfs/options.hpp"
#include "apps/common/scratch_folder.hpp"

namespace coracle::bfs {

struct Input {
  std::uint64_t vertices = 0;
  std::unique_ptr<EdgeSource> source;
  std::vector<std::string> names;  ///< At rank 0; empty where vertices are called by their numbers.

  /// The vertex that is called so, or by a word up to its first dot (WordNet's first synset of that word); kNoVertex.
  Vertex find(std::string_view name) const;
  std::string name(Vertex vertex) const;
};

/// Collective; fails at all together (Agreed). A file is read by rank 0, piece by piece, and its edges go to a paged
/// array in `folder`.
Task<Input> load(Rank& self, const Options& options, const ScratchFolder& folder);

}  // namespace coracle::bfs
