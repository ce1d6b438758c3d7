// The command line of `asp`, and its report: delays from times, and the page.
#include "apps/asp/user_interface.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include <coracle/coracle.hpp>
#include "apps/asp/graph.hpp"
#include "apps/asp/min_plus.hpp"
#include "apps/common/command_line.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::asp {
namespace {

constexpr const char* kDirect = "direct";
constexpr const char* kDpkgStatus = "/var/lib/dpkg/status";

// Options that stand for something else.
struct Words {
  bool dpkg = false;
  std::string format;
  std::string broadcast = kDirect;
};

void take_words(const Words& words, Options& options) {
  const std::map<std::string, GraphFormat> formats = {{"gr", GraphFormat::dimacs},
                                                      {"mtx", GraphFormat::matrix_market},
                                                      {"edges", GraphFormat::edge_list},
                                                      {"dpkg", GraphFormat::dpkg}};
  if (words.broadcast != kDirect) options.broadcast = parse_broadcast_choice(words.broadcast, "--broadcast");
  if (!words.format.empty()) options.format = formats.at(words.format);
  if (words.dpkg) {
    options.path = kDpkgStatus;
    options.format = GraphFormat::dpkg;
  }
}

void add_graph_options(OptionGroup& app, Options& options, Words& words) {
  OptionGroup source = app.add_choice("graph", "one of these");
  const Option file =
      source.add_option("FILE", options.path, "a graph: DIMACS .gr, Matrix Market .mtx, or an edge list");
  source.add_flag("--dpkg", words.dpkg, "the dependencies of the packages installed on this machine");
  const Option random = source.add_option("--random", options.random_vertices, "N vertices with random arcs")
                            .type_name("N")
                            .check(whole_number(1, kVerticesMax));
  app.add_value("--format", words.format, "FORMAT", "how FILE is written: gr, mtx, edges, dpkg (by its extension)",
                one_of({"gr", "mtx", "edges", "dpkg"}))
      .needs(file);
  app.add_value("--degree", options.degree, "D", "with --random: arcs per vertex", whole_number(0, kVerticesMax))
      .needs(random);
  app.add_option("--seed", options.seed, "of the random graph and of the verified sources")
      .check(any_count())
      .show_default();
  app.add_flag("--undirected", options.undirected, "take every arc in both directions");
}

void add_broadcast_options(OptionGroup& app, Options& options, Words& words) {
  const auto check = [](const std::string& text) -> std::string {
    if (text == kDirect) return "";
    try {
      parse_broadcast_choice(text, "--broadcast");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  app.add_value("--broadcast", words.broadcast, "WORDS",
                "how pivots travel: direct (their owner puts them into all others' memory), or a broadcast: automatic, "
                "or plain, pipelined or competitive, with binomial, recursive_doubling or ring, chunk=SIZE, depth=N, "
                "fan_out=N: competitive,ring,chunk=64K",
                {check});
  app.add_option("--arrivals", options.trace_path,
                 "write when each rank came to each broadcast, for `coracle bench arrival`")
      .type_name("FILE");
}

void add_run_options(OptionGroup& app, Options& options) {
  app.add_value("--verify", options.verified_sources, "SOURCES",
                "sources from which Dijkstra must find the same distances", any_count());
  app.add_option("--block", options.block, "pivots per pass over the matrix (by the graph's size)")
      .type_name("B")
      .check({[](const std::string& text) {
        std::string problem = whole_number(kPivotsStep, kPivotsMax).complaint(text);
        if (!problem.empty() || std::stoul(text) % kPivotsStep == 0) return problem;
        return fmt::format("{} is no multiple of {}", text, kPivotsStep);
      }});
  app.add_value("--top", options.top, "K", "most central vertices to list", any_count());
  app.add_flag("--progress", options.shows_progress, "show how far it is, on a terminal");
  app.add_option("--json", options.json_path, "write the results to a file too").type_name("FILE");
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CommandLine app("All-pairs shortest paths by Floyd-Warshall, over the ranks of a Coracle job.", "asp");
  Options options;
  Words words;
  add_graph_options(app, options, words);
  add_run_options(app, options);
  add_broadcast_options(app, options, words);
  const auto check = [&] {
    if (app.option("--degree").is_given() && options.degree > options.random_vertices)
      internals::wrong("--degree: there are fewer vertices for these arcs to lead to; take less, or more by --random");
  };
  if (const std::optional<int> status = app.parse(argc, argv, check)) return *status;
  take_words(words, options);
  return options;
}

Graph load_graph(const Options& options) {
  Graph graph = options.path.empty() ? random_graph(options.random_vertices, options.degree, options.seed)
                                     : read_graph(options.path, options.format.value_or(format_of_path(options.path)));
  return options.undirected ? graph.undirected() : graph;
}

std::string describe_graph(const Options& options) {
  const char* const suffix = options.undirected ? ", both directions" : "";
  if (!options.path.empty()) return options.path + suffix;
  return fmt::format("random, degree {}, seed {}{}", options.degree, options.seed, suffix);
}

namespace {

constexpr double kFirstBin_s = 1e-6;
constexpr std::size_t kBinsMax = 24;  // up to 8 s

std::size_t bin_of(double delay_s) noexcept {
  std::size_t bin = 0;
  for (double below_s = kFirstBin_s; delay_s >= below_s && bin + 1 < kBinsMax; below_s *= 2) ++bin;
  return bin;
}

}  // namespace

Arrivals arrivals_of(std::span<const double> times_s, std::span<const std::uint32_t> roots, std::uint32_t ranks) {
  CORACLE_ASSERT(times_s.size() == roots.size() * ranks, "{} times of {} iterations and {} ranks", times_s.size(),
                 roots.size(), ranks);
  Arrivals arrivals;
  arrivals.ranks = ranks;
  if (ranks < 2 || roots.empty()) return arrivals;
  std::vector<std::uint64_t> counts(kBinsMax);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::span<const double> times = times_s.subspan(i * ranks, ranks);
    const auto first = std::min_element(times.begin(), times.end());
    Arrivals::Iteration iteration{0, 0, times[roots[i]] - *first};
    for (auto time = times.begin(); time != times.end(); ++time) {
      const double delay_s = *time - *first;
      iteration.mean_s += delay_s / ranks;
      iteration.max_s = std::max(iteration.max_s, delay_s);
      if (time != first) ++counts[bin_of(delay_s)];
    }
    arrivals.mean_s += iteration.mean_s / static_cast<double>(roots.size());
    arrivals.max_s = std::max(arrivals.max_s, iteration.max_s);
    arrivals.iterations.push_back(iteration);
  }
  while (counts.back() == 0) counts.pop_back();
  for (std::size_t bin = 0; bin < counts.size(); ++bin)
    arrivals.histogram.push_back({std::ldexp(kFirstBin_s, static_cast<int>(bin)), counts[bin]});
  return arrivals;
}

namespace {

constexpr std::size_t kBarWidth = 24;

class Page {
 public:
  explicit Page(TextStyle style) : style_(style) {}

  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  std::string bold(std::string_view text) const { return coloured("1", text); }
  std::string faint(std::string_view text) const { return coloured("2", text); }
  std::string green(std::string_view text) const { return coloured("32", text); }
  const char* arrow() const { return style_.has_unicode ? "→" : "->"; }

  /// `share` of a full bar, 0..1, in eighths of a column where the terminal can.
  std::string bar(double share) const {
    const auto eighths = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth * 8));
    std::string text;
    if (!style_.has_unicode) return coloured("36", std::string((eighths + 4) / 8, '#'));
    constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
    return coloured("36", text + kParts[eighths % 8]);
  }

  std::string take() && { return std::move(text_); }

 private:
  std::string coloured(std::string_view code, std::string_view text) const {
    return style_.has_colours ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  TextStyle style_;
  std::string text_;
};

// 12345678 -> "12,345,678".
std::string grouped(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string seconds(double value) {
  if (value < 1e-3) return fmt::format("{:.0f} us", value * 1e6);
  if (value < 1) return fmt::format("{:.1f} ms", value * 1e3);
  return fmt::format("{:.2f} s", value);
}

void add_distances(Page& page, const Report& report) {
  const double all = static_cast<double>(report.vertices) * static_cast<double>(report.vertices - 1);
  const double share = all > 0 ? 100 * static_cast<double>(report.pairs) / all : 0;
  page.line("  reachable pairs  {} of {} ({:.1f} %)", grouped(report.pairs), grouped(static_cast<std::uint64_t>(all)),
            share);
  if (report.pairs > 0) {
    page.line("  mean distance    {:.4g}", report.mean_distance);
    page.line("  diameter         {:.6g}  {}", report.diameter,
              page.faint(fmt::format("{} {} {}", report.diameter_source, page.arrow(), report.diameter_target)));
  }
  if (report.verified_sources > 0) {
    page.line("  verified         {}",
              page.green(fmt::format("{} against Dijkstra, {}", plural(report.verified_sources, "source"),
                                     report.is_verified_exactly ? "exactly equal" : "within rounding")));
  }
}

void add_central(Page& page, const Report& report) {
  if (report.central.empty()) return;
  std::size_t width = 12;
  double most = 0;
  for (const Report::Central& central : report.central) {
    width = std::max(width, std::min<std::size_t>(central.name.size(), 40));
    if (std::isfinite(central.closeness)) most = std::max(most, central.closeness);
  }
  page.line("");
  page.line("  {}", page.bold(fmt::format("{:<{}}     reached by  closeness", "most central", width)));
  for (std::size_t i = 0; i < report.central.size(); ++i) {
    const Report::Central& central = report.central[i];
    page.line("  {:>2}  {:<{}} {:>10}  {:>9.4f}  {}", i + 1, central.name.substr(0, 40), width,
              grouped(central.reached_by), central.closeness, page.bar(most > 0 ? central.closeness / most : 0));
  }
}

void add_times(Page& page, const Report& report) {
  page.line("");
  page.line("  {}", page.bold(fmt::format("{:<12}{:>10}{:>10}{:>10}", "time", "min", "mean", "max")));
  const auto add = [&](std::string_view name, Spread spread) {
    page.line("  {:<12}{:>10}{:>10}{:>10}", name, seconds(spread.min), seconds(spread.mean), seconds(spread.max));
  };
  add("computing", report.computing_s);
  add("waiting", report.waiting_s);
  page.line("  {:<12}{:>30}  {}", "in all", seconds(report.total_s),
            page.faint(fmt::format("on {}, placement {}, {} pivots per pass", plural(report.ranks, "rank"),
                                   report.placement, report.block)));
  // Where nearly all is skipped, the rate is that of finding out what to skip, and says nothing about the vector units.
  if (report.skipped_share > 0.5) {
    page.line("  {:<12}{:>8.1f} % of all sums skipped, as no way leads there; {}", "inner loop",
              100 * report.skipped_share, report.kernel);
  } else if (report.kernel_rate > 0) {
    page.line("  {:<12}{:>8.2f} G/s per rank with {}; the vector units' limit is {:.2f} G/s: {:.2f}x", "inner loop",
              report.kernel_rate * 1e-9, report.kernel, report.vector_limit * 1e-9,
              report.vector_limit / report.kernel_rate);
  }
}

void add_arrivals(Page& page, const Report& report) {
  const Arrivals& arrivals = report.arrivals;
  if (arrivals.iterations.empty()) return;
  page.line("");
  page.line("  {}  {}", page.bold("arrival"),
            page.faint(fmt::format("of the ranks at {} of pivots ({}), after the first",
                                   plural(arrivals.iterations.size(), "block"), report.broadcast)));
  page.line("  {:<12}{:>10}{:>30}", "mean, max", seconds(arrivals.mean_s), seconds(arrivals.max_s));
  std::uint64_t all = 0;
  for (const Arrivals::Bin& bin : arrivals.histogram) all += bin.count;
  for (const Arrivals::Bin& bin : arrivals.histogram) {
    if (bin.count == 0) continue;
    const double share = static_cast<double>(bin.count) / static_cast<double>(all);
    page.line("  {:<12}{:>8.1f} %  {}", "below " + seconds(bin.below_s), 100 * share, page.bar(share));
  }
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()), *high};
}

TextStyle TextStyle::of_standard_output() {
  const auto environment = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  TextStyle style;
  style.has_colours = isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  // The first of these that is set decides, as in setlocale(3).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    style.has_unicode = locale.ends_with("UTF-8") || locale.ends_with("utf8");
    break;
  }
  return style;
}

std::string to_text(const Report& report, TextStyle style) {
  Page page(style);
  page.line("");
  page.line("  {}  {}", page.bold("All-pairs shortest paths"), page.faint(report.graph));
  page.line("");
  page.line("  graph            {} {}, {}", grouped(report.vertices), report.vertices == 1 ? "vertex" : "vertices",
            plural(report.arcs, "arc"));
  add_distances(page, report);
  add_central(page, report);
  add_times(page, report);
  add_arrivals(page, report);
  return std::move(page).take();
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Spread, min, mean, max)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arrivals::Iteration, mean_s, max_s, root_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arrivals::Bin, below_s, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Arrivals, mean_s, max_s, histogram, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, pairs, mean_distance, ranks, placement, block, broadcast, arrivals,
                                   computing_s, waiting_s, total_s)

std::string to_json(const Report& report) {
  nlohmann::json object = report;
  object["graph"] = {{"source", report.graph}, {"vertices", report.vertices}, {"arcs", report.arcs}};
  object["diameter"] = {
      {"distance", report.diameter}, {"from", report.diameter_source}, {"to", report.diameter_target}};
  object["central"] = nlohmann::json::array();
  for (const Report::Central& c : report.central) {
    const nlohmann::json closeness =
        std::isfinite(c.closeness) ? nlohmann::json(c.closeness) : nlohmann::json("infinity");
    object["central"].push_back({{"name", c.name}, {"closeness", closeness}, {"reached_by", c.reached_by}});
  }
  object["verified"] = {{"sources", report.verified_sources}, {"exactly", report.is_verified_exactly}};
  object["kernel"] = {{"name", report.kernel},
                      {"rate", report.kernel_rate},
                      {"limit", report.vector_limit},
                      {"skipped_share", report.skipped_share}};
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace coracle::asp
