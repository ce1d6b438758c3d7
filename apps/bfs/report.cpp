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

std::string to_json(const Report& report) {
  nlohmann::json searches = nlohmann::json::array();
  for (const Report::Found& found : report.searches) {
    searches.push_back({{"root", found.root},
                        {"reached", found.reached},
                        {"edges", found.edges},
                        {"levels", found.levels},
                        {"digest", fmt::format("{:016x}", found.digest)},
                        {"seconds", found.seconds},
                        {"teps", found.teps()}});
  }
  const nlohmann::json object = {
      {"graph", report.graph},
      {"vertices", report.vertices},
      {"edges", report.edges},
      {"arcs", report.arcs},
      {"ranks", report.ranks},
      {"nodes", report.nodes},
      {"placement", report.placement},
      {"page_bytes", report.page_bytes},
      {"cache_bytes", report.cache_bytes},
      {"loading_s", report.loading_s},
      {"building_s", report.building_s},
      {"searches", searches},
      {"mean_teps", report.mean_teps()},
      {"pages",
       {{"hits", report.counts.hits},
        {"misses", report.counts.misses},
        {"ssd_reads", report.counts.ssd_reads},
        {"from_peers", report.counts.from_peers},
        {"evictions", report.counts.evictions}}},
      {"verified", report.verified},
  };
  return object.dump(2) + "\n";
}

}  // namespace coracle::bfs
