// `coracle bench arrival`: broadcasts to ranks that come at different times (unbalanced process arrival), beside what
// the distribution of their delays makes necessary.
//
// Source: the microbenchmark of the competitive and pipelined broadcast (MPIActor): repeat { barrier; a random delay in
// [0, K]; time the broadcast }; the mean of each rank, and the maximum over the ranks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench/arrival/arrival_samples.hpp"
#include "apps/bench/arrival/arrivals.hpp"
#include "apps/bench/benchmark.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/choice/model.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/team/choices.hpp"

namespace coracle::internals::bench {
namespace {

std::uint64_t delay_of(const std::string& word) {
  if (word == "0") return 0;
  const auto delay = parse_duration(word);
  if (!delay || *delay > std::chrono::minutes(1))
    wrong(fmt::format("--delays {}: must be 0, or times such as 500us or 2ms, up to a minute", word));
  return static_cast<std::uint64_t>(delay->count());
}

/// As the options and the report have it: "auto" for what the library chooses.
template <class Choice>
std::string word_of(Choice choice) {
  return choice == Choice::automatic ? "auto" : std::string(name_of(choice));
}

/// `all`: what `word` may name.
template <class Choice>
Choice named(const char* option, const std::string& word, std::initializer_list<Choice> all) {
  std::string names;
  for (const Choice choice : all) {
    if (word == word_of(choice)) return choice;
    names += (names.empty() ? "" : ", ") + word_of(choice);
  }
  wrong(fmt::format("{} {}: there are {}", option, word, names));
}

BroadcastMethod method_of(const std::string& word) {
  using enum BroadcastMethod;
  return named("--methods", word, {automatic, plain, pipelined, competitive});
}

BroadcastTree tree_of(const std::string& word) {
  using enum BroadcastTree;
  return named("--trees", word, {automatic, binomial, recursive_doubling, ring});
}

class ArrivalOptions {
 public:
  std::vector<std::uint64_t> delays_ns;  ///< K: twice the mean of how late a rank is.
  std::vector<BroadcastMethod> methods;
  std::vector<BroadcastTree> trees;
  BroadcastChoice details;  ///< Chunks, depth and fan-out.
  Arrivals arrivals{"uniform", 1};
  std::uint64_t iterations = 0;  ///< 0: the benchmark chooses.

  /// Adds the options to a command, which must not outlive this.
  void add_to(OptionGroup& command) {
    const auto add_list = [&command](const char* name, std::vector<std::string>& target, const char* help) {
      command.add_option(name, target, help).separated_by(',').show_default().group("arrival");
    };
    const auto add = [&command](const char* name, auto& target, const char* help) {
      return command.add_option(name, target, help).group("arrival");
    };
    add_list("--delays", delay_words_, "K: a rank is late by a random time in [0, K]");
    add_list("--methods", method_words_, "auto, plain, pipelined, competitive");
    add_list("--trees", tree_words_, "Between nodes: auto, binomial, recursive_doubling, ring");
    add("--arrival", arrival_, "uniform, exponential (of the same mean, K/2), or a recorded trace's file")
        .show_default();
    add("--chunk", chunk_, "Of a pipeline's pieces (default: by the cost model)");
    add("--depth", depth_, "Pieces on the way to one node (default: by the cost model)")
        .check(whole_number(1, 1 << 20));
    add("--fan-out", fan_out_, "Local members that copy from one buffer (default: by the cost model)")
        .check(whole_number(1, 1 << 20));
    add("--iterations", iterations_, "Of each case (default: 200, sim: 50; --quick: 5)")
        .check(whole_number(1, 10'000'000));
    add("--arrival-seed", arrival_seed_, "Repeats the delays")
        .show_default()
        .check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  }
  /// Once the command has been parsed: what its words mean. Throws WrongUsage for words that mean nothing,
  /// Error for a bad trace.
  void check() {
    details.depth = static_cast<std::uint32_t>(depth_);
    details.fan_out = static_cast<std::uint32_t>(fan_out_);
    if (!chunk_.empty()) {
      const auto bytes = parse_bytes(chunk_);
      if (!bytes) wrong(fmt::format("--chunk {}: must be a size such as 8K", chunk_));
      details.chunk_bytes = *bytes;
    }
    arrivals = Arrivals(arrival_, static_cast<std::uint64_t>(arrival_seed_));
    iterations = static_cast<std::uint64_t>(iterations_);
    for (const std::string& word : delay_words_) delays_ns.push_back(delay_of(word));
    std::sort(delays_ns.begin(), delays_ns.end());  // K = 0 is what the others stand beside
    for (const std::string& word : method_words_) methods.push_back(method_of(word));
    for (const std::string& word : tree_words_) trees.push_back(tree_of(word));
  }

 private:
  std::vector<std::string> delay_words_{"0", "500us"};
  std::vector<std::string> method_words_{"plain", "pipelined", "competitive"};
  std::vector<std::string> tree_words_{"binomial"};
  std::string arrival_ = "uniform";
  std::string chunk_;  // empty: by the cost model; as 0 of the next two
  std::int64_t depth_ = 0;
  std::int64_t fan_out_ = 0;
  std::int64_t iterations_ = 0;
  std::int64_t arrival_seed_ = 1;
};

constexpr std::uint32_t kRoot = 0;
/// Sizes of the message, unless the user has chosen others.
constexpr std::uint64_t kSizes[] = {12 << 10, 92 << 10};

struct Case {
  BroadcastMethod method;
  BroadcastTree tree;
  std::uint64_t bytes;
  std::uint64_t delay_ns;

  std::string name() const {
    const char* unit = delay_ns == 0 ? "" : " us";
    return fmt::format("{}, {}, {}, K = {:g}{}", word_of(method), word_of(tree), size_text(bytes),
                       static_cast<double>(delay_ns) / 1e3, unit);
  }
};

std::vector<std::uint64_t> sizes_of(const Choices& choices) {
  if (!choices.sizes.empty()) return choices.sizes;
  return {std::begin(kSizes), std::end(kSizes)};
}

std::vector<Case> cases_of(const Bench& bench, const ArrivalOptions& options) {
  std::vector<Case> cases;
  for (const BroadcastTree tree : options.trees)
    for (const std::uint64_t bytes : sizes_of(bench.choices))
      for (const BroadcastMethod method : options.methods)
        for (const std::uint64_t delay_ns : options.delays_ns) cases.push_back({method, tree, bytes, delay_ns});
  return cases;
}

std::uint64_t iterations_of(const Bench& bench, const ArrivalOptions& options) {
  if (options.iterations != 0) return options.iterations;
  if (bench.plan.quick) return 5;
  return bench.self.placement() == Placement::sim ? 50 : 200;
}

double loop_ns(Rank& self) {
  return static_cast<double>(self.loop().exact_now_ns());
}

/// Something that no other iteration has, at both ends of the message.
void stamp(std::span<std::byte> data, std::uint64_t iteration) {
  const auto mark = static_cast<std::byte>(iteration * 37 + 11);
  data.front() = mark;
  data.back() = mark;
}

void check_stamp(std::span<const std::byte> data, std::uint64_t iteration, const Case& what) {
  const auto mark = static_cast<std::byte>(iteration * 37 + 11);
  if (data.front() == mark && data.back() == mark) return;
  throw Error(Errc::bad_input,
              fmt::format("the broadcast ({}) has brought wrong data in iteration {}", what.name(), iteration));
}

Task<ArrivalSamples> measure_case(Bench& bench, const ArrivalOptions& options, Case what, std::span<std::byte> data) {
  const std::uint64_t iterations = iterations_of(bench, options);
  const std::uint64_t warm_ups = bench.plan.quick ? 0 : 2;
  Rank& self = bench.self;
  BroadcastChoice choice = options.details;
  choice.method = what.method;
  choice.tree = what.tree;
  ArrivalSamples samples;
  for (std::uint64_t i = 0; i < warm_ups + iterations; ++i) {
    const double late = options.arrivals.delay(self.id(), i) * static_cast<double>(what.delay_ns);
    if (self.id() == kRoot) stamp(data, i);
    co_await self.world().barrier();
    const double released = loop_ns(self);
    co_await self.busy_for(std::chrono::nanoseconds(static_cast<std::int64_t>(late)));
    const double begun = loop_ns(self);
    co_await self.world().broadcast(data, kRoot, choice);
    const double ended = loop_ns(self);
    check_stamp(data, i, what);
    if (i < warm_ups) continue;
    samples.released.push_back(released);
    samples.begun.push_back(begun);
    samples.ended.push_back(ended);
  }
  co_return samples;
}

/// What the delays cost in closed form, for the broadcast's shape; in units of K.
class Model {
 public:
  Model(const Arrivals& arrivals, const Case& what, std::uint32_t nodes, std::uint32_t ranks)
      : arrivals_(arrivals), what_(what), nodes_(nodes), local_size_(ranks / nodes), even_(ranks % nodes == 0) {}

  /// Only nodes of the same size have a closed form.
  bool known() const noexcept {
    return even_ && what_.method != BroadcastMethod::automatic &&
           (what_.tree != BroadcastTree::automatic || nodes_ == 1);
  }
  /// Of the rank that waits longest.
  double wait() const {
    const std::uint32_t hops = deepest();
    // The leader of its own node holds up no rank if it is the first to come, and none but the other local members if
    // it is fixed.
    const bool own_leader_counts = !competes() && local_size_ > 1;
    return expected_wait(arrivals_, hops == 0 || own_leader_counts ? hops : hops - 1, competitors());
  }
  /// Until a node other than the root's has data, mean over nodes.
  double reach() const {
    if (is_tree()) return expected_reach(arrivals_, nodes_ - 1, competitors());
    std::map<std::uint32_t, std::uint32_t> nodes_by_hops;
    for (std::uint32_t node = 1; node < nodes_; ++node) ++nodes_by_hops[hops_to(node)];
    double sum = 0;
    for (const auto& [hops, nodes] : nodes_by_hops) sum += nodes * expected_reach(arrivals_, hops, competitors());
    return sum / (nodes_ - 1);
  }
  std::uint32_t competitors() const noexcept { return competes() ? std::min(local_size_, kCompetitorsMax) : 1; }

 private:
  bool competes() const noexcept { return what_.method == BroadcastMethod::competitive; }
  /// Scatter and all-gather: every node's block goes through that node's leader.
  bool is_tree() const noexcept { return what_.tree != BroadcastTree::binomial; }
  /// In a binomial tree a node's number, counted from the root's, loses a bit with each hop.
  static std::uint32_t hops_to(std::uint32_t node) noexcept { return static_cast<std::uint32_t>(std::popcount(node)); }
  std::uint32_t deepest() const noexcept {
    if (is_tree()) return nodes_ - 1;
    std::uint32_t most = 0;
    for (std::uint32_t node = 1; node < nodes_; ++node) most = std::max(most, hops_to(node));
    return most;
  }

  const Arrivals& arrivals_;
  const Case what_;
  std::uint32_t nodes_;
  std::uint32_t local_size_;
  bool even_;
};

/// Rank 0 writes it.
class ArrivalReport {
 public:
  ArrivalReport(Bench& bench, const ArrivalOptions& options)
      : bench_(bench), arrivals_(options.arrivals), iterations_(iterations_of(bench, options)) {
    const Rank& self = bench.self;
    const bool is_virtual = self.placement() == Placement::sim;
    where_ = fmt::format("{} ranks on {} node{}, {}{}", self.size(), self.nodes(), self.nodes() == 1 ? "" : "s",
                         to_string(self.placement()), is_virtual ? " (virtual time)" : "");
  }

  void add(const Case& what, const ArrivalSummary& summary) {
    const double delay = static_cast<double>(what.delay_ns);
    if (what.delay_ns == 0) balanced_[key(what)] = summary;
    const auto balanced = balanced_.find(key(what));
    const Model model(arrivals_, what, bench_.self.nodes(), bench_.self.size());
    const bool known = what.delay_ns > 0 && balanced != balanced_.end() && model.known();
    Row time{what.name(), "ns", {summary.slowest, summary.fastest, summary.slowest}, "", {}, 0, std::nullopt, {}};
    time.details = details(what, summary);
    if (what.delay_ns > 0 && model.known()) time.details["delays_cost_ns"] = delay * model.wait();
    if (known)
      set_limit(time, "K = 0, and what the delays cost on average", balanced->second.slowest + delay * model.wait());
    if (what.delay_ns == 0) set_limit(time, "one message, nominal", message_ns(what.bytes));
    if (known) time.details["model_ns"] = time.limit.median;
    if (bench_.self.nodes() == 1) return put(kTimes, std::move(time));
    Row reach{what.name(), "ns", exactly(summary.reach), "", {}, 0, std::nullopt, {}};
    if (known)
      set_limit(reach, "K = 0, and what the delays cost on average", balanced->second.reach + delay * model.reach());
    if (known) time.details["model_reach_ns"] = reach.limit.median;
    put(kTimes, std::move(time));
    put(kReach, std::move(reach));
  }

  /// Once for each K.
  void add_leaders(const Case& what, const ArrivalSummary& summary) {
    if (what.delay_ns == 0 || !leaders_done_.emplace(what.delay_ns, true).second) return;
    const Rank& self = bench_.self;
    const auto delay = static_cast<double>(what.delay_ns);
    // `competitors`: 0 when it is not the same number on every node.
    const auto row = [&](const char* who, const ArrivalSummary::Lateness& late, std::uint32_t competitors) {
      Row result{
          fmt::format("{}, K = {:g} us", who, delay / 1e3), "ns", exactly(late.mean), "", {}, 0, std::nullopt, {}};
      if (competitors > 0)
        set_limit(result, competitors == 1 ? "mean of one delay" : fmt::format("mean of the least of {}", competitors),
                  delay * expected_first(arrivals_, competitors));
      result.details = {{"delay_ns", delay}, {"mean_ns", late.mean}, {"share", late.share}};
      return result;
    };
    put(kLeaders, row("the node's first rank, a fixed leader", summary.leader, 1));
    const bool even = self.size() % self.nodes() == 0;
    put(kLeaders, row("the first rank to come", summary.first, even ? self.size() / self.nodes() : 0));
  }

 private:
  static constexpr const char* kTimes =
      "Time in the broadcast, mean of each rank: slowest, and fastest .. slowest rank";
  static constexpr const char* kReach = "From the root's arrival until another node has the data, mean";
  static constexpr const char* kLeaders = "How late leaders come after the barrier, mean";

  using Key = std::tuple<BroadcastMethod, BroadcastTree, std::uint64_t>;
  static Key key(const Case& what) { return {what.method, what.tree, what.bytes}; }
  static void set_limit(Row& row, std::string name, double value) {
    row.limit_name = std::move(name);
    row.limit = exactly(value);
  }
  void put(const char* title, Row row) {
    bench_.report.add(fmt::format("{}; {}, {} arrival, {} iterations", title, where_, arrivals_.source(), iterations_),
                      std::move(row));
  }
  double message_ns(std::uint64_t bytes) const {
    Rank& self = bench_.self;
    const TransportTraits traits = self.core().transport_to(self.size() - 1).traits();
    return traits.latency_ns + static_cast<double>(bytes) / traits.bandwidth_bytes_per_ns;
  }
  nlohmann::json details(const Case& what, const ArrivalSummary& summary) const {
    return {{"method", word_of(what.method)}, {"tree", word_of(what.tree)},      {"bytes", what.bytes},
            {"delay_ns", what.delay_ns},      {"arrival", arrivals_.source()},   {"ranks", bench_.self.size()},
            {"nodes", bench_.self.nodes()},   {"iterations", iterations_},       {"slowest_ns", summary.slowest},
            {"mean_ns", summary.mean},        {"complete_ns", summary.complete}, {"reach_ns", summary.reach}};
  }

  Bench& bench_;
  const Arrivals& arrivals_;
  std::uint64_t iterations_;
  std::string where_;
  std::map<Key, ArrivalSummary> balanced_;
  std::map<std::uint64_t, bool> leaders_done_;
};

class ArrivalBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "arrival",
            .help = "broadcasts to ranks that come at different times",
            .ranks = {4},
            .between_nodes = true,
            .in_sim = true,
            .reads = {"--sizes"}};
  }
  void add_options(OptionGroup& command, Choices&) override { options_.add_to(command); }
  void check(const Request&) override { options_.check(); }

  /// Room for the longest message.
  std::uint64_t segment_bytes(const Request& request) const override {
    constexpr std::uint64_t kBeside = 1 << 20;
    const std::vector<std::uint64_t> sizes = sizes_of(request.choices);
    return std::max(*std::max_element(sizes.begin(), sizes.end()), std::end(kSizes)[-1]) + kBeside;
  }

  Task<> run(Bench& bench) override {
    Rank& self = bench.self;
    const std::vector<std::uint64_t> sizes = sizes_of(bench.choices);
    Slab<std::byte> data = self.allocate<std::byte>(*std::max_element(sizes.begin(), sizes.end()));
    std::unique_ptr<ArrivalReport> report;
    if (bench.keeps_time()) report = std::make_unique<ArrivalReport>(bench, options_);
    for (const Case& what : cases_of(bench, options_)) {
      ArrivalSamples samples = co_await measure_case(bench, options_, what, data.local().first(what.bytes));
      const ArrivalSummary summary = co_await sum_up(self, std::move(samples), static_cast<double>(what.delay_ns));
      if (report) report->add(what, summary);
      if (report) report->add_leaders(what, summary);
    }
  }

 private:
  ArrivalOptions options_;
};

}  // namespace

std::unique_ptr<Benchmark> arrival_benchmark() {
  return std::make_unique<ArrivalBenchmark>();
}

}  // namespace coracle::internals::bench
