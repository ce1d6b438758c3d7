// The graph formats that `asp` reads. Every malformed input throws Error(Errc::bad_input) with file, line, what is
// wrong and how to mend it; memory is taken for what the text holds, never for what it declares.
#pragma once

#include <string>
#include <string_view>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

enum class GraphFormat { dimacs, matrix_market, edge_list, dpkg };

/// By extension: .gr is DIMACS, .mtx Matrix Market, a file called `status` dpkg's, anything else an edge list.
GraphFormat format_of_path(std::string_view path) noexcept;

/// Loads and parses a file.
Graph read_graph(const std::string& path, GraphFormat format);

/// Parses `text`; `name` stands for the file in messages.
Graph parse_graph(const std::string& name, std::string_view text, GraphFormat format);

/// 9th DIMACS challenge: `p sp VERTICES ARCS`, then `a FROM TO WEIGHT` with vertices from 1; `c` starts a comment.
Graph parse_dimacs(const std::string& name, std::string_view text);

/// Square coordinate matrix, real, integer or pattern (weight 1), general or symmetric; entry (i, j) is an arc i -> j.
Graph parse_matrix_market(const std::string& name, std::string_view text);

/// `FROM TO [WEIGHT]` per line, weight 1 by default; `#` and `%` start comments. Vertices are any words.
Graph parse_edge_list(const std::string& name, std::string_view text);

/// Debian's /var/lib/dpkg/status: installed packages (one vertex per name, whatever its architectures), and an arc of
/// weight 1 to every installed package that can satisfy a Depends or Pre-Depends: each installed alternative, and for a
/// virtual package all that provide it. Version constraints hold on a working system and are not looked at.
Graph parse_dpkg(const std::string& name, std::string_view text);

}  // namespace coracle::asp
