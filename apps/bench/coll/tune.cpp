// `coracle bench tune`: measures what the cost model of the collectives needs to know, beside what the machine does,
// and keeps it in a file.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "apps/bench/measure/raw.hpp"
#include "apps/bench/measure/report.hpp"
#include "apps/coracle/machine.hpp"
#include "collectives/choice/tuning_file.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

// Its rows.
constexpr const char* kTuneLatency = "from a word to its reader";
constexpr const char* kTuneFlag = "saying a word";
constexpr const char* kTuneCopy = "one rank copies";
constexpr const char* kTuneCopyByAll = "all others copy at once";
constexpr const char* kTuneGap = "from one message to the next";
constexpr const char* kTuneBulk = "puts of 1 MiB at once";

/// Fits the costs to the report of one job. Between nodes: query.link is not "".
TuningRecord fitted_record(const Report& report, const TuningQuery& query, std::uint32_t ranks) {
  const auto median = [&report](const char* name) { return report.row(name).value.median; };
  const auto bandwidth = [&](const char* name) { return report.row(name).bytes / std::max(1.0, median(name)); };
  TuningRecord record{query.host, query.cores, query.placement, query.crowded, {}};
  if (!query.link.empty()) {
    record.level = query.link;
    const double gap_ns = median(kTuneGap);
    // What a sender's processor does of it can't be told apart here: both are paid by the message after it.
    record.costs = {{"between.latency_ns", std::max(0.0, median(kTuneLatency) - gap_ns)},
                    {"between.overhead_ns", gap_ns},
                    {"between.gap_ns", gap_ns},
                    {"between.bandwidth_bytes_per_ns", bandwidth(kTuneBulk)}};
    return record;
  }
  record.costs = {{"inside.latency_ns", median(kTuneLatency)},
                  {"inside.flag_ns", median(kTuneFlag)},
                  {"inside.bandwidth_bytes_per_ns", bandwidth(kTuneCopy)}};
  if (ranks > 2) {
    const double others = ranks - 1;
    const double slower = median(kTuneCopyByAll) / std::max(1.0, median(kTuneCopy));
    record.costs.emplace_back("inside.readers", std::clamp(others / slower, 1.0, others));
  }
  return record;
}

/// Puts the record into the file of costs, and says so on standard output. Throws Error.
void keep_record(TuningRecord record) {
  const std::string path = tuning_path();
  if (path.empty())
    throw Error(Errc::bad_input, "there is no place for the costs: set HOME, or CORACLE_TUNING to a file's path");
  std::vector<TuningRecord> records;
  try {
    records = read_tuning(path);
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input) throw;
    fmt::print(stderr, "coracle: warning: {}; it is replaced\n", error.what());
  }
  const auto old = std::find_if(records.begin(), records.end(),
                                [&record](const TuningRecord& other) { return other.is_of(record); });
  // How many may read at once is measured by jobs with many ranks only.
  if (old != records.end() && old->cores == record.cores)
    for (const auto& cost : old->costs)
      if (std::none_of(record.costs.begin(), record.costs.end(),
                       [&cost](const auto& other) { return other.first == cost.first; }))
        record.costs.push_back(cost);
  fmt::print("\nKept in {}:\n  {}", path, tuning_text({record}).substr(tuning_text({}).size()));
  put_record(records, std::move(record));
  write_tuning(path, records);
}

using Wait = PlainSockets::Wait;

constexpr std::size_t kCopyBytes = std::size_t{1} << 20;
constexpr std::uint64_t kWindow = 64;

/// `count` times there and back between two ranks, each of which has one signal.
Task<> hand_over(Rank& self, Slab<Signal>& own, Remote<Signal> theirs, std::uint64_t& seen, bool begins,
                 std::uint64_t count) {
  for (; count != 0; --count) {
    if (begins) co_await self.raise(theirs);
    const std::uint64_t next = ++seen;
    co_await self.wait(own[0], next);
    if (!begins) co_await self.raise(theirs);
  }
}

/// Ranks of one node.
class TuneInside {
 public:
  explicit TuneInside(Bench& bench)
      : bench_(bench),
        self_(bench.self),
        data_(self_.allocate<std::byte>(kCopyBytes)),
        own_(self_.allocate<std::byte>(kCopyBytes)),
        flags_(self_.allocate<RawFlag>(1)),
        signals_(self_.allocate_signals(2)) {
    std::memset(data_.data(), 1, kCopyBytes);
    std::memset(own_.data(), 2, kCopyBytes);
  }

  Task<> run() {
    const auto signals = co_await self_.world().gather_all(signals_.remote());
    const auto flags = co_await self_.world().gather_all(flags_.remote());
    const auto data = co_await self_.world().gather_all(data_.remote());
    partner_ = signals[id() == 0 ? 1 : 0];
    raw_ = self_.reach(flags[0]);
    source_ = self_.reach(data[last()], kCopyBytes);
    if (raw_ == nullptr || source_ == nullptr)
      throw Error(Errc::unsupported, "tuning inside a node needs ranks that share memory");
    co_await words();
    co_await copies();
  }

 private:
  std::uint32_t id() const noexcept { return self_.id(); }
  /// Whose memory is copied: not rank 0, which keeps the time.
  std::uint32_t last() const noexcept { return self_.size() - 1; }
  std::string title(const char* what) const {
    return fmt::format("{}, {} ranks, placement {}", what, self_.size(), to_string(self_.placement()));
  }

  Task<> words() {
    Contest contest(self_, bench_.plan);
    const auto there_and_back = contest.add([this](std::uint64_t count) {
      return id() < 2 ? hand_over(self_, signals_, partner_, seen_, id() == 0, count) : rest();
    });
    const auto raw = contest.add_plain([this](std::uint64_t count) {
      if (id() < 2) raw_ping_pong(*raw_, id() == 0, nullptr, nullptr, 0, count);
    });
    const auto raising = [&](Remote<Signal> signal) {
      return contest.add(repeated([=, this] { return self_.raise(signal); }, id() == 0));
    };
    const std::size_t flag = raising(partner_ + 1);
    const std::size_t own = raising(signals_.remote() + 1);
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string words = title("What a word costs");
    bench_.report.add(words, contest.row(kTuneLatency, there_and_back, "a cache line changes hands", raw, 0, 0.5));
    bench_.report.add(words, contest.row(kTuneFlag, flag, "in its own memory", own));
  }

  Task<> copies() {
    Contest contest(self_, bench_.plan);
    const auto copying = [&](const std::byte* source, bool active) {
      return contest.add_plain(plainly([=, this] { std::memcpy(own_.data(), source, kCopyBytes); }, active));
    };
    const std::size_t alone = copying(source_, id() == 0);
    const std::size_t all = copying(source_, id() != last());
    const std::size_t limit = copying(data_.data(), id() == 0);
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string copies = title("Copies of 1 MiB out of one rank's memory");
    bench_.report.add(copies, contest.row(kTuneCopy, alone, "memcpy within a rank", limit, kCopyBytes));
    bench_.report.add(copies, contest.row(kTuneCopyByAll, all, "by one rank", alone, kCopyBytes));
  }

  Bench& bench_;
  Rank& self_;
  Slab<std::byte> data_;
  Slab<std::byte> own_;
  Slab<RawFlag> flags_;
  Slab<Signal> signals_;
  Remote<Signal> partner_;
  RawFlag* raw_ = nullptr;
  const std::byte* source_ = nullptr;
  std::uint64_t seen_ = 0;
};

/// The first ranks of two nodes.
class TuneBetween {
 public:
  explicit TuneBetween(Bench& bench)
      : bench_(bench),
        self_(bench.self),
        pair_(bench.self),
        data_(self_.allocate<std::byte>(kCopyBytes)),
        place_(self_.allocate<std::byte>(kCopyBytes)),
        signals_(self_.allocate_signals(1)) {
    std::memset(data_.data(), 1, kCopyBytes);
    std::memset(place_.data(), 2, kCopyBytes);
  }

  Task<> run() {
    const auto places = co_await self_.world().gather_all(place_.remote());
    const auto signals = co_await self_.world().gather_all(signals_.remote());
    theirs_ = places[pair_.peer()];
    partner_ = signals[pair_.peer()];
    co_await pair_.sockets().meet();
    Contest contest(self_, bench_.plan);
    const auto there_and_back = contest.add([this](std::uint64_t count) {
      return takes_part() ? hand_over(self_, signals_, partner_, seen_, pair_.asks(), count) : rest();
    });
    const auto trips =
        contest.add_plain(pair_.round_trips(data_.local().first(8), place_.local().first(8), Wait::spinning));
    const auto [gap, small] = add_stream(contest, 8);
    const auto [bulk, large] = add_stream(contest, kCopyBytes);
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string title = pair_.title(fmt::format("What messages cost, {} ranks", self_.size()));
    const auto add = [&](const char* name, std::size_t ours, const char* limit_name, std::size_t limit,
                         std::uint64_t bytes, double factor) {
      bench_.report.add(title, contest.row(name, ours, limit_name, limit, bytes, factor));
    };
    add(kTuneLatency, there_and_back, kSpinningName, trips, 0, 0.5);
    add(kTuneGap, gap, "sockets: a stream, a write each", small, 0, 1);
    add(kTuneBulk, bulk, "sockets: a stream, a write each", large, kCopyBytes, 1);
  }

 private:
  bool takes_part() const noexcept { return pair_.asks() || pair_.serves(); }

  /// Puts, many under way; and a stream of sockets.
  std::pair<std::size_t, std::size_t> add_stream(Contest& contest, std::size_t bytes) {
    const std::span<std::byte> data = data_.local().first(bytes);
    const std::size_t ours = contest.add(repeated_at_once(
        self_, [=, this] { self_.put_nbi(data, theirs_); }, kWindow, pair_.asks()));
    const std::size_t limit = contest.add_plain(pair_.stream(data, place_.local().first(bytes), true, Wait::sleeping));
    return {ours, limit};
  }

  Bench& bench_;
  Rank& self_;
  NodePair pair_;
  Slab<std::byte> data_;
  Slab<std::byte> place_;
  Slab<Signal> signals_;
  Remote<std::byte> theirs_;
  Remote<Signal> partner_;
  std::uint64_t seen_ = 0;
};

class TuneBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "tune",
            .help = "what the choice of collectives must know; kept in a file",
            .ranks = {2, 8},
            .ranks_min = 2,
            .between_nodes = true};
  }

  Report measure(Jobs& jobs) override {
    const Request& request = jobs.request();
    Report report;
    for (const std::uint32_t size : ranks(request)) {
      const JobPlan plan = request.job_of(size);
      const Report found = jobs.run(*this, plan);
      if (!request.quick) found_.push_back(fitted_record(found, query_of(plan, request.transport), plan.ranks));
      report.merge(found);
    }
    return report;
  }
  void after_print() override {
    for (TuningRecord& record : found_) keep_record(std::move(record));
  }

  Task<> run(Bench& bench) override {
    if (bench.self.nodes() > 1) {
      TuneBetween tune(bench);
      co_await tune.run();
    } else {
      TuneInside tune(bench);
      co_await tune.run();
    }
  }

 private:
  static TuningQuery query_of(const JobPlan& plan, RemoteTransport transport) {
    JobOptions options;
    options.shape.placement = plan.placement;
    options.shape.size = plan.ranks;
    options.shape.nodes = plan.nodes;
    options.shape.network.transport = transport;
    return tuning_query(options);
  }

  std::vector<TuningRecord> found_;
};

}  // namespace

std::unique_ptr<Benchmark> tune_benchmark() {
  return std::make_unique<TuneBenchmark>();
}

}  // namespace coracle::internals::bench
