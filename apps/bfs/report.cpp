// Lines and JSON.
#include "apps/bfs/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/bfs/edge.hpp"

namespace coracle::bfs {
namespace {

std::string search_line(const Report::Found& found) {
  std::string line =
      fmt::format("  from {}: {} vertices on {} levels, {} edges, {:.3f} s: {:.2f} million TEPS\n", found.root,
                  found.reached, found.levels.size(), found.edges, found.seconds, found.teps() * 1e-6);
  line += "   ";
  for (const std::uint64_t size : found.levels) line += fmt::format(" {}", size);
  return line + "\n";
}

}  // namespace

double Report::mean_teps() const noexcept {
  double inverses = 0;
  std::size_t traversed = 0;
  for (const Found& found : searches) {
    if (found.teps() <= 0) continue;
    inverses += 1 / found.teps();
    ++traversed;
  }
  return traversed > 0 ? static_cast<double>(traversed) / inverses : 0;
}

std::string to_text(const Report& report) {
  std::string text = fmt::format("{}: {} vertices, {} edges\n", report.graph, report.vertices, report.edges);
  text += fmt::format("  arcs: {:.1f} MB in pages of {} bytes, on {} rank{} with caches of {:.1f} MB\n",
                      static_cast<double>(report.arcs * sizeof(Vertex)) * 1e-6, report.page_bytes, report.ranks,
                      report.ranks == 1 ? "" : "s", static_cast<double>(report.cache_bytes) * 1e-6);
  text += fmt::format("  loaded in {:.2f} s, built in {:.2f} s\n", report.loading_s, report.building_s);
  for (const Report::Found& found : report.searches) text += search_line(found);
  if (report.searches.size() > 1)
    text +=
        fmt::format("  mean of {} searches: {:.2f} million TEPS\n", report.searches.size(), report.mean_teps() * 1e-6);
  text += fmt::format("  pages: {} hits, {} misses, {} read from SSDs, {} from peers, {} evicted\n", report.counts.hits,
                      report.counts.misses, report.counts.ssd_reads, report.counts.from_peers, report.counts.evictions);
  if (report.verified) text += "  verified: levels as by a serial search in memory, and parents that form a tree\n";
  return text;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report::Found, root, reached, edges, levels, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, graph, vertices, edges, arcs, ranks, nodes, placement, page_bytes,
                                   cache_bytes, loading_s, building_s, verified)

std::string to_json(const Report& report) {
  nlohmann::json object = report;
  object["searches"] = nlohmann::json::array();
  for (const Report::Found& found : report.searches) {
    object["searches"].push_back(found);
    object["searches"].back()["digest"] = fmt::format("{:016x}", found.digest);
    object["searches"].back()["teps"] = found.teps();
  }
  object["mean_teps"] = report.mean_teps();
  object["pages"] = {{"hits", report.counts.hits},
                     {"misses", report.counts.misses},
                     {"ssd_reads", report.counts.ssd_reads},
                     {"from_peers", report.counts.from_peers},
                     {"evictions", report.counts.evictions}};
  return object.dump(2) + "\n";
}

}  // namespace coracle::bfs
