// `coracle bench ddt`: the patterns of DDTBench between two ranks, by every way that a message can go, and packed by
// hand.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/ddt/ddt_patterns.hpp"
#include "apps/bench/measure/contest.hpp"
#include "apps/bench/measure/raw.hpp"
#include "apps/common/command_line.hpp"
#include "apps/common/units.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/messages/send_recv.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {
namespace {

/// How a message of a pattern goes: by a way of the library's, or packed, sent in one piece, and unpacked.
struct DdtWay {
  const char* name;
  std::optional<RendezvousScheme> message = std::nullopt;  ///< None: it is packed beforehand.
  bool by_hand = false;                                    ///< Packed by the loops, not by the library.
};

/// The library's own choice first.
constexpr DdtWay kDdtWays[] = {{"automatic", RendezvousScheme::automatic},
                               {"one-sided", RendezvousScheme::one_sided},
                               {"cooperative", RendezvousScheme::cooperative},
                               {"shm", RendezvousScheme::shm},
                               {"cma", RendezvousScheme::cma},
                               {"by-hand", std::nullopt, true},
                               {"by-library"}};

constexpr std::size_t kBufferAlignment = 4096;

std::size_t buffer_bytes(const DdtPattern& pattern) {
  return std::max(pattern.send.buffer_bytes, pattern.receive.buffer_bytes);
}

/// The word at a place of a rank's buffer before anything has come.
std::uint32_t word_of(std::size_t place, std::uint32_t owner) {
  return static_cast<std::uint32_t>(place) | owner << 31;
}

/// Whether the kernel does not let processes read each other's memory here.
bool is_refused(const std::error_code& error) {
  return error.category() == std::generic_category() && (error.value() == EPERM || error.value() == ENOSYS);
}

/// Of memory that is the rank's own, as a program would have it: from malloc, beginning with a page, and touched.
class DdtMemory {
 public:
  explicit DdtMemory(std::size_t bytes)
      : size_(bytes),
        data_(static_cast<std::byte*>(std::aligned_alloc(
            kBufferAlignment, (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment))) {
    if (!data_) throw Error(Errc::bad_input, fmt::format("there is no memory for a buffer of {} bytes", bytes));
    std::memset(data_.get(), 0, bytes);
  }

  std::byte* data() const noexcept { return data_.get(); }
  std::span<std::byte> bytes() const noexcept { return {data_.get(), size_}; }
  /// The same in words of 4 bytes: of which all patterns are made.
  std::span<std::uint32_t> words() const noexcept {
    return {reinterpret_cast<std::uint32_t*>(data_.get()), size_ / sizeof(std::uint32_t)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> data_;
};

/// Equal for two layouts (or datatypes of MPI) of `bytes` when they name the same bytes of a buffer in the same order.
/// `buffer` is overwritten.
std::uint64_t fingerprint(const DdtSide& side, const DdtMemory& buffer, std::uint64_t bytes) {
  const std::span<std::uint32_t> words = buffer.words();
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(i, 0);
  const DdtMemory packed(bytes);
  const std::uint64_t done = pack({buffer.data(), side.layout, side.count}, 0, packed.bytes());
  CORACLE_ASSERT(done == bytes, "a pattern of {} bytes is packed to {}", bytes, done);
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, by words
  for (const std::uint32_t word : packed.words()) hash = (hash ^ word) * 1099511628211ULL;
  return hash;
}

/// Ranks 0 and 1 make the same calls; others too, for whom they do nothing. As in DDTBench each has one buffer, out of
/// which it sends and into which it receives. The pattern must outlive it.
class DdtExchange {
 public:
  DdtExchange(Rank& self, const DdtPattern& pattern)
      : self_(self),
        pattern_(pattern),
        buffer_(takes_part() ? buffer_bytes(pattern) : 0),
        packed_(takes_part() ? pattern.bytes : 0),
        taken_(takes_part() ? pattern.bytes : 0) {}

  const DdtMemory& buffer() const noexcept { return buffer_; }
  /// Collective: whether a message can go so between these ranks. Sends one in each direction: throws Error unless
  /// every byte has come and none beside them has changed.
  Task<bool> check(DdtWay way) {
    bool works = true;
    if (takes_part()) {
      const bool needs_addresses =
          way.message == RendezvousScheme::one_sided || way.message == RendezvousScheme::cooperative;
      works = !needs_addresses || shares_addresses(messages().rank(), peer());
      if (works) works = co_await check_both(way);
    }
    const int all = co_await self_.world().all_reduce(works ? 1 : 0, min_of);
    co_return all == 1;
  }
  /// `count` times there and back.
  Task<> round_trips(DdtWay way, std::uint64_t count) {
    if (!takes_part()) co_return;
    prepare(way);
    for (; count != 0; --count) {
      if (self_.id() == 0) co_await send(way);
      co_await receive(way);
      finish(way);
      if (self_.id() != 0) co_await send(way);
    }
  }

 private:
  bool takes_part() const noexcept { return self_.id() < 2; }
  std::uint32_t peer() const noexcept { return 1 - self_.id(); }
  coracle::internals::Messages& messages() const { return coracle::internals::Messages::of(self_); }
  /// Takes effect on what this rank sends and receives from now on.
  void prepare(DdtWay way) { messages().fix_scheme(way.message.value_or(RendezvousScheme::automatic)); }
  // What is expected is made by the loops by hand, without layouts.
  Task<bool> check_both(DdtWay way) {
    const DdtMemory expected(buffer_.bytes().size());
    bool works = true;
    prepare(way);
    for (std::uint32_t sender = 0; sender < 2; ++sender) {
      fill(sender);
      pattern_.pack_by_hand(buffer_.data(), packed_.data());
      fill(self_.id());
      std::memcpy(expected.data(), buffer_.data(), expected.bytes().size());
      pattern_.unpack_by_hand(packed_.data(), expected.data());
      if (self_.id() == sender) {
        co_await send(way);
        continue;
      }
      try {
        co_await receive(way);
        finish(way);
      } catch (const Error& error) {
        if (way.message != RendezvousScheme::cma || !is_refused(error.code())) throw;
        works = false;
      }
      if (works) verify(way, expected);
    }
    co_return works;
  }
  void verify(DdtWay way, const DdtMemory& expected) const {
    const auto [wrong, right] = std::ranges::mismatch(buffer_.words(), expected.words());
    if (wrong == buffer_.words().end()) return;
    throw Error(Errc::bad_input,
                fmt::format("{} {}, {}: word {} that rank {} has received is {:#x}, not {:#x}", pattern_.name,
                            pattern_.size, way.name, wrong - buffer_.words().begin(), self_.id(), *wrong, *right));
  }
  /// To be awaited at once.
  Send send(DdtWay way) {
    if (way.message) return self_.world().send(source(), peer());
    if (way.by_hand)
      pattern_.pack_by_hand(buffer_.data(), packed_.data());
    else
      pack(source(), 0, packed_.bytes());
    fence_compiler();
    return self_.world().send(packed_.bytes(), peer());
  }
  /// To be awaited at once, and then finished.
  Receive receive(DdtWay way) {
    if (!way.message) return self_.world().recv(taken_.bytes(), peer(), 0);
    return self_.world().recv(target(), peer(), 0);
  }
  void finish(DdtWay way) {
    if (way.message) return;
    if (way.by_hand)
      pattern_.unpack_by_hand(taken_.data(), buffer_.data());
    else
      unpack(taken_.bytes(), 0, target());
    fence_compiler();
  }
  ScatteredSource source() const { return {buffer_.data(), pattern_.send.layout, pattern_.send.count}; }
  ScatteredTarget target() const { return {buffer_.data(), pattern_.receive.layout, pattern_.receive.count}; }
  void fill(std::uint32_t owner) const {
    const std::span<std::uint32_t> words = buffer_.words();
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(i, owner);
  }

  Rank& self_;
  const DdtPattern& pattern_;
  DdtMemory buffer_;
  DdtMemory packed_;  // what goes in one piece
  DdtMemory taken_;   // and comes
};

/// What one way of a pattern takes.
struct Found {
  DdtWay way;
  Figure figure;
  double allocations;
};

/// All ways of a pattern, and the state in which the machine was meanwhile.
struct Measured {
  std::vector<Found> ways;
  std::optional<Figure> hand_over;  ///< Of a cache line, half a round trip; none where ranks share no memory.
};

/// Not the library's own choice, and not packed beforehand.
bool is_fixed(DdtWay way) {
  return way.message.value_or(RendezvousScheme::automatic) != RendezvousScheme::automatic;
}

/// Of those that are `such`, but for the first; null where there are none.
template <class Such>
const Found* best_of(const std::vector<Found>& found, Such such) {
  const Found* best = nullptr;
  for (std::size_t i = 1; i < found.size(); ++i)
    if (such(found[i].way) && (best == nullptr || found[i].figure.median < best->figure.median)) best = &found[i];
  return best;
}

/// For programs that compare a side with a datatype of MPI.
nlohmann::json json_of_side(const DdtSide& side, const DdtMemory& buffer, std::uint64_t bytes) {
  const Footprint footprint = side.layout.footprint(side.count);
  return {{"bytes", side.layout.packed_bytes(side.count)},
          {"low", footprint.low},
          {"high", footprint.high},
          {"blocks", side.layout.shape(side.count).blocks},
          {"fingerprint", fmt::format("{:016x}", fingerprint(side, buffer, bytes))}};
}

/// How many times longer something takes than something else, over all patterns.
class Ratios {
 public:
  explicit Ratios(std::string what) : what_(std::move(what)) {}

  void add(const std::string& pattern, double more, double less) {
    const double ratio = more / less;
    logarithms_ += std::log(ratio);
    ++count_;
    if (ratio > most_) most_ = ratio, most_of_ = pattern;
    if (ratio < least_) least_ = ratio, least_of_ = pattern;
  }
  void report(Report& report) const {
    if (count_ == 0) return;
    add_row(report, "geometric mean", std::exp(logarithms_ / count_));
    add_row(report, fmt::format("most, of {}", most_of_), most_);
    add_row(report, fmt::format("least, of {}", least_of_), least_);
  }

 private:
  void add_row(Report& report, const std::string& which, double ratio) const {
    report.add("Over all patterns and sizes",
               {fmt::format("{}: {}", what_, which), "x", exactly(ratio), "", {}, 0, {}});
  }

  std::string what_;
  double logarithms_ = 0;
  double most_ = 0;
  double least_ = 1e300;
  std::string most_of_, least_of_;
  int count_ = 0;
};

/// What is to be measured.
struct DdtOptions {
  std::vector<DdtWay> ways;  ///< Empty: all that can be.
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
};

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const DdtPattern& pattern : ddt_patterns())
    if (std::find(names.begin(), names.end(), pattern.name) == names.end()) names.push_back(pattern.name);
  return names;
}

class Ddt {
 public:
  Ddt(Bench& bench, const DdtOptions& options) : bench_(bench), options_(options), wished_(options.ways) {
    if (bench.choices.rounds != 0) bench.plan.batches = static_cast<int>(bench.choices.rounds);
    if (wished_.empty()) wished_.assign(std::begin(kDdtWays), std::end(kDdtWays));
  }

  Task<> run() {
    const auto flags = co_await bench_.self.world().gather_all(flag_.remote());
    flag_of_first_ = bench_.self.reach(flags[0]);
    for (const DdtPattern& pattern : ddt_patterns()) {
      if (!is_wanted(pattern)) continue;
      DdtExchange exchange(bench_.self, pattern);
      const Measured measured = co_await measure(exchange);
      if (bench_.keeps_time()) report(pattern, exchange, measured);
    }
    if (!bench_.keeps_time()) co_return;
    beside_fixed_.report(bench_.report);
    beside_best_.report(bench_.report);
    fastest_.report(bench_.report);
    by_hand_.report(bench_.report);
  }

 private:
  bool is_wanted(const DdtPattern& pattern) const {
    if (std::find(names_.begin(), names_.end(), pattern.name) == names_.end()) return false;
    return pattern.bytes <= options_.bytes_max && (!bench_.plan.quick || pattern.send.buffer_bytes <= kQuickBytesMax);
  }

  /// Half round trips, on rank 0.
  Task<Measured> measure(DdtExchange& exchange) {
    Contest contest(bench_.self, bench_.plan);
    std::vector<DdtWay> ways;
    for (const DdtWay way : wished_) {
      const bool works = co_await exchange.check(way);
      if (!works && !options_.ways.empty())
        throw Error(Errc::unsupported, fmt::format("--ways {}: can't be between these ranks", way.name));
      if (!works) continue;
      ways.push_back(way);
      contest.add([&exchange, way](std::uint64_t count) { return exchange.round_trips(way, count); });
    }
    std::size_t hand_over = 0;
    if (knows_state())
      hand_over = contest.add_plain([this](std::uint64_t count) {
        if (bench_.self.id() < 2) hand_over_line(*flag_of_first_, bench_.self.id() == 0, count);
      });
    co_await contest.run();
    Measured measured;
    for (std::size_t i = 0; bench_.keeps_time() && i < ways.size(); ++i)
      measured.ways.push_back({ways[i], scaled(contest.figure(i), 0.5), contest.allocations(i) / 2});
    if (bench_.keeps_time() && knows_state()) measured.hand_over = scaled(contest.figure(hand_over), 0.5);
    co_return measured;
  }

  /// The same on all ranks.
  bool knows_state() const noexcept { return bench_.self.nodes() == 1 && bench_.self.placement() != Placement::sim; }

  void report(const DdtPattern& pattern, const DdtExchange& exchange, const Measured& measured) {
    const std::vector<Found>& found = measured.ways;
    const Found& chosen = found.front();  // the library's choice, unless the user has asked for others
    const Found* best = best_of(found, [](DdtWay) { return true; });
    const Found* best_fixed = best_of(found, is_fixed);
    const Found* by_hand = best_of(found, [](DdtWay way) { return way.by_hand; });
    const std::string name = fmt::format("{} {}, {} B", pattern.name, pattern.size, pattern.bytes);
    Row row;
    row.name = name;
    row.value = chosen.figure;
    row.bytes = static_cast<double>(pattern.bytes);
    row.allocations = chosen.allocations;
    if (best != nullptr) {
      row.limit_name = fmt::format("the best other, {}", best->way.name);
      row.limit = best->figure;
      beside_best_.add(name, chosen.figure.median, best->figure.median);
    }
    if (best_fixed != nullptr) beside_fixed_.add(name, chosen.figure.median, best_fixed->figure.median);
    if (by_hand != nullptr) by_hand_.add(name, by_hand->figure.median, chosen.figure.median);
    // Where other programs run beside, half of the batches have met them.
    double fastest = std::numeric_limits<double>::max();
    for (std::size_t i = 1; i < found.size(); ++i) fastest = std::min(fastest, found[i].figure.min);
    if (best != nullptr) fastest_.add(name, chosen.figure.min, fastest);
    for (const Found& each : found)
      if (&each != &chosen) row.others.push_back({each.way.name, each.figure});
    row.details = {{"pattern", pattern.name},
                   {"size", pattern.size},
                   {"bytes", pattern.bytes},
                   {"way", chosen.way.name},
                   {"send", json_of_side(pattern.send, exchange.buffer(), pattern.bytes)},
                   {"receive", json_of_side(pattern.receive, exchange.buffer(), pattern.bytes)}};
    if (measured.hand_over) row.details["hand_over_ns"] = measured.hand_over->median;
    bench_.report.add(fmt::format("DDTBench's patterns, half a round trip, {}, placement {}", chosen.way.name,
                                  to_string(bench_.self.placement())),
                      row);
  }

  Bench& bench_;
  const DdtOptions& options_;
  std::vector<std::string> names_{bench_.choices.chosen_of(pattern_names())};
  Slab<RawFlag> flag_{bench_.self.allocate<RawFlag>(1)};
  RawFlag* flag_of_first_ = nullptr;  // null where it can't be reached
  std::vector<DdtWay> wished_;
  Ratios beside_fixed_{"chosen / best way that can be fixed"};
  Ratios beside_best_{"chosen / best of all others"};
  Ratios fastest_{"chosen / best of all others, fastest batches"};
  Ratios by_hand_{"by hand / chosen"};
};

std::string names_of_ways() {
  std::vector<std::string> names;
  for (const DdtWay way : kDdtWays) names.emplace_back(way.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

DdtWay way_of(const std::string& word) {
  for (const DdtWay way : kDdtWays)
    if (word == way.name) return way;
  wrong(fmt::format("--ways {}: there are {}", word, names_of_ways()));
}

class DdtBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "ddt",
            .help = "DDTBench's patterns between two ranks, by every way",
            .ranks_min = 2,
            .reads = {"--only", "--ways, --bytes-max", "--rounds"}};
  }
  std::vector<std::string> parts() const override { return pattern_names(); }

  void add_options(OptionGroup& command, Choices& choices) override {
    command.add_option("--ways", ways_, fmt::format("With commas, of {} (default: all that can be)", names_of_ways()))
        .separated_by(',')
        .group("ddt");
    command.add_option("--bytes-max", bytes_max_, "No larger messages: 64K").group("ddt");
    command
        .add_option("--rounds", choices.rounds,
                    "Batches of each way, in turn (default: 20; --quick: 3); pagetables: how often all send to all "
                    "(default: 1000)")
        .check(whole_number(1, 10'000))
        .group("ddt");
  }

  void check(const Request&) override {
    for (const std::string& word : ways_) options_.ways.push_back(way_of(word));
    if (bytes_max_.empty()) return;
    const auto bytes = parse_bytes(bytes_max_);
    if (!bytes || *bytes == 0) wrong(fmt::format("--bytes-max {}: must be a size such as 64K", bytes_max_));
    options_.bytes_max = *bytes;
  }

  Task<> run(Bench& bench) override {
    Ddt ddt(bench, options_);
    co_await ddt.run();
  }

 private:
  std::vector<std::string> ways_;  // words of options_
  std::string bytes_max_;
  DdtOptions options_;
};

}  // namespace

std::unique_ptr<Benchmark> ddt_benchmark() {
  return std::make_unique<DdtBenchmark>();
}

}  // namespace coracle::internals::bench
