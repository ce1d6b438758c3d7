// The formats, one after the other, and the choice among them.
#include "apps/asp/readers.hpp"

#include <fmt/format.h>
#include <coracle/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/asp/text_lines.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::asp {
Graph parse_edge_list(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  Names vertices;
  std::vector<Arc> arcs;
  while (lines.next()) {
    const std::optional<std::string_view> source = lines.word();
    if (!source || source->starts_with('#') || source->starts_with('%')) continue;
    const std::string_view target = lines.required_word("arc's end");
    const std::optional<std::string_view> weight = lines.word();
    lines.expect_end_of_line();
    const Vertex from = vertices.number(*source);
    const Vertex to = vertices.number(target);
    if (vertices.size() > kVerticesMax) {
      lines.fail(fmt::format("more than {} vertices", kVerticesMax),
                 "all-pairs distances of such a graph fit no memory");
    }
    arcs.push_back({from, to, weight ? lines.weight(*weight) : 1.0F});
  }
  if (arcs.empty()) lines.fail("the file ends without an edge", "write one edge per line: FROM TO [WEIGHT]");
  return Graph(vertices.size(), arcs, vertices.all());
}

namespace {

// What the graph needs of one package's paragraph; the texts lie in the file's.
struct Package {
  std::string_view name;
  std::string_view status;
  std::string_view depends;
  std::string_view pre_depends;
  std::string_view provides;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Calls `visit` with each trimmed, non-empty piece of `list`.
template <class Visit>
void for_each_piece(std::string_view list, char separator, Visit visit) {
  while (!list.empty()) {
    const std::size_t end = list.find(separator);
    const std::string_view piece = trimmed(list.substr(0, end));
    if (!piece.empty()) visit(piece);
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
}

// "libc6:any (>= 2.36) [amd64]" -> "libc6".
std::string_view bare_name(std::string_view relation) {
  return relation.substr(0, relation.find_first_of(" \t(:["));
}

std::string_view* field_of(Package& package, std::string_view field) {
  if (field == "Package") return &package.name;
  if (field == "Status") return &package.status;
  if (field == "Depends") return &package.depends;
  if (field == "Pre-Depends") return &package.pre_depends;
  if (field == "Provides") return &package.provides;
  return nullptr;
}

void read_field(TextLines& lines, Package& package) {
  const std::string_view line = lines.line();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0 || line.substr(0, colon).find_first_of(" \t") != line.npos) {
    lines.fail(fmt::format("no `Field: value` but {}", in_quotes(line)), "give a file such as /var/lib/dpkg/status");
  }
  std::string_view* value = field_of(package, line.substr(0, colon));
  if (!value) return;
  if (!value->empty()) lines.fail(fmt::format("a second {} field", line.substr(0, colon)), "remove one of the two");
  *value = trimmed(line.substr(colon + 1));
  if (value->empty()) lines.fail(fmt::format("the field {} is empty", line.substr(0, colon)), "remove or complete it");
}

void end_paragraph(const TextLines& lines, Package& package, std::vector<Package>& installed) {
  if (package.name.empty()) lines.fail("the paragraph above has no Package field", "each needs Package and Status");
  if (package.status.empty()) {
    lines.fail(fmt::format("package {} has no Status field", in_quotes(package.name)),
               "the file seems cut off: get the whole file again");
  }
  if (package.status.ends_with(" installed")) installed.push_back(package);
  package = {};
}

std::vector<Package> read_paragraphs(TextLines& lines) {
  std::vector<Package> installed;
  Package package;
  bool in_paragraph = false;
  while (lines.next()) {
    if (trimmed(lines.line()).empty()) {
      if (in_paragraph) end_paragraph(lines, package, installed);
      in_paragraph = false;
    } else if (lines.line().front() == ' ' || lines.line().front() == '\t') {
      if (!in_paragraph) lines.fail("a continued line without a field above it", "give a file such as dpkg's status");
    } else {
      in_paragraph = true;
      read_field(lines, package);
    }
  }
  if (!lines.line_was_ended())
    lines.fail("the last line has no end", "the file seems cut off: get the whole file again");
  if (in_paragraph) end_paragraph(lines, package, installed);
  return installed;
}

class DependencyGraph {
 public:
  explicit DependencyGraph(std::span<const Package> packages) {
    for (const Package& package : packages) vertices_.number(package.name);
    for (const Package& package : packages) {
      for_each_piece(package.provides, ',', [&](std::string_view relation) {
        providers_[bare_name(relation)].push_back(vertices_.number(package.name));
      });
    }
    for (const Package& package : packages) {
      add_arcs(package, package.depends);
      add_arcs(package, package.pre_depends);
    }
  }

  Graph build() && { return Graph(vertices_.size(), arcs_, vertices_.all()); }

 private:
  void add_arcs(const Package& package, std::string_view relations) {
    const Vertex source = vertices_.number(package.name);
    for_each_piece(relations, ',', [&](std::string_view group) {
      for_each_piece(group, '|', [&](std::string_view relation) { add_alternative(source, bare_name(relation)); });
    });
  }

  void add_alternative(Vertex source, std::string_view name) {
    if (const std::optional<Vertex> target = vertices_.find(name)) {
      add_arc(source, *target);
    } else if (const auto providers = providers_.find(name); providers != providers_.end()) {
      for (const Vertex provider : providers->second) add_arc(source, provider);
    }
  }

  void add_arc(Vertex source, Vertex target) {
    if (source != target) arcs_.push_back({source, target, 1.0F});
  }

  Names vertices_;
  std::unordered_map<std::string_view, std::vector<Vertex>> providers_;  // virtual package -> who provides it
  std::vector<Arc> arcs_;
};

}  // namespace

Graph parse_dpkg(const std::string& name, std::string_view text) {
  TextLines lines(name, text);
  const std::vector<Package> installed = read_paragraphs(lines);
  if (installed.empty()) lines.fail("the file ends without an installed package", "give dpkg's status file");
  if (installed.size() > kVerticesMax) lines.fail(fmt::format("{} packages", installed.size()), "too many for asp");
  return DependencyGraph(installed).build();
}

GraphFormat format_of_path(std::string_view path) noexcept {
  if (path.ends_with(".gr")) return GraphFormat::dimacs;
  if (path.ends_with(".mtx")) return GraphFormat::matrix_market;
  if (path == "status" || path.ends_with("/status")) return GraphFormat::dpkg;
  return GraphFormat::edge_list;
}

Graph read_graph(const std::string& path, GraphFormat format) {
  return parse_graph(path, load_text(path), format);
}

Graph parse_graph(const std::string& name, std::string_view text, GraphFormat format) {
  if (text.empty()) throw Error(Errc::bad_input, fmt::format("{}: the file is empty; give a file with a graph", name));
  switch (format) {
    case GraphFormat::dimacs:
      return parse_dimacs(name, text);
    case GraphFormat::matrix_market:
      return parse_matrix_market(name, text);
    case GraphFormat::edge_list:
      return parse_edge_list(name, text);
    case GraphFormat::dpkg:
      return parse_dpkg(name, text);
  }
  CORACLE_ASSERT(false, "graph format {}", static_cast<int>(format));
}

}  // namespace coracle::asp
