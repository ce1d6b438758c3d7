// `coracle bench pagetables`: all send to all, again and again, and then the kernel is asked what memory and page
// tables that has taken. The command does this with jobs of several sizes, in one address space and in many, and tells
// how what they take grows with the number of ranks.
//
// Source: the all-to-all of 60 to 240 processes of Shimada, Hori and Ishikawa (PVAS, IPSJ 2015).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/ranks/process_memory.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/messages/send_recv.hpp"
#include "runtime/rank/started.hpp"

namespace coracle::internals::bench {
namespace {

// What rank 0 reports.
constexpr const char* kTables = "page tables";
constexpr const char* kMachineTables = "page tables of the machine";
constexpr const char* kMemory = "PSS";

// --- a rank's part ---

constexpr std::uint64_t kRounds = 1000;
constexpr std::uint64_t kRoundsQuick = 2;
// Sends under way at a time.
constexpr std::uint32_t kLanes = 8;

/// The blocks of one rank for and of all, in memory of its own, as MPI's programs have them.
class Blocks {
 public:
  Blocks(Rank& self, std::uint64_t bytes)
      : self_(self), bytes_(bytes), source_(bytes * self.size()), target_(bytes * self.size()) {}

  Task<> exchange(std::uint64_t round) {
    Team& team = self_.world();
    std::vector<Started<Received>> receives;
    receives.reserve(self_.size());
    for (std::uint32_t step = 1; step < self_.size(); ++step) {
      const std::uint32_t from = (self_.id() + self_.size() - step) % self_.size();
      receives.push_back(start(self_, team.recv(block(target_, from), from, round)));
    }
    std::vector<Task<>> lanes;
    for (std::uint32_t lane = 0; lane < std::min(kLanes, self_.size() - 1); ++lane)
      lanes.push_back(send_some(lane + 1, round));
    co_await when_all(std::move(lanes));
    for (Started<Received>& receive : receives) co_await receive.done();
    check(round);
  }

 private:
  std::span<std::byte> block(std::vector<std::byte>& blocks, std::uint32_t rank) noexcept {
    return {blocks.data() + rank * bytes_, bytes_};
  }
  std::byte stamp(std::uint32_t from, std::uint32_t to, std::uint64_t round) const noexcept {
    return static_cast<std::byte>(from * 7 + to * 31 + round * 13 + 1);
  }
  Task<> send_some(std::uint32_t first, std::uint64_t round) {
    for (std::uint32_t step = first; step < self_.size(); step += kLanes) {
      const std::uint32_t to = (self_.id() + step) % self_.size();
      const std::span<std::byte> data = block(source_, to);
      std::memset(data.data(), static_cast<int>(stamp(self_.id(), to, round)), data.size());
      co_await self_.world().send(data, to, round);
    }
  }
  void check(std::uint64_t round) {
    for (std::uint32_t from = 0; from < self_.size(); ++from) {
      const std::span<std::byte> data = block(target_, from);
      const std::byte wanted = stamp(from, self_.id(), round);
      if (from == self_.id() || (data.front() == wanted && data.back() == wanted)) continue;
      throw Error(Errc::bad_input, fmt::format("round {} has brought wrong data from rank {}", round, from));
    }
  }

  Rank& self_;
  std::uint64_t bytes_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
};

std::uint64_t rounds_of(const Bench& bench) {
  if (bench.choices.rounds != 0) return static_cast<std::uint64_t>(bench.choices.rounds);
  return bench.plan.quick ? kRoundsQuick : kRounds;
}

Task<> all_to_all(Bench& bench) {
  Rank& self = bench.self;
  const std::uint64_t rounds = rounds_of(bench);
  Blocks blocks(self, bench.told.at("bytes"));
  co_await self.world().barrier();
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  for (std::uint64_t round = 0; round < rounds; ++round) co_await blocks.exchange(round);
  co_await self.world().barrier();
  if (bench.keeps_time()) {
    const double round_ns = static_cast<double>(self.loop().exact_now_ns() - begin_ns) / static_cast<double>(rounds);
    const ProcessMemory memory = memory_of_all(self);
    for (const auto& [name, unit, value] : {std::tuple{kTables, "B", memory.page_tables},
                                            {kMachineTables, "B", kilobytes_line("/proc/meminfo", "PageTables:")},
                                            {kMemory, "B", memory.proportional},
                                            {"RSS", "B", memory.resident},
                                            {"round", "ns", round_ns}})
      bench.report.add("pagetables", {.name = name, .unit = unit, .value = exactly(value)});
  }
  co_await self.world().barrier();  // the others stay alive until rank 0 has looked at them
}

// --- the command's part ---

// 2 KiB and 16 KiB: what the paper sent eagerly, and by rendezvous.
constexpr std::uint64_t kTableSizes[] = {2048, 16384};

constexpr const char* kSummed = "page tables and PSS";
constexpr const char* kQuantities[] = {kTables, kMachineTables, kMemory, kSummed, "RSS", "round"};

using Quantities = std::map<std::string, double>;                         // by quantity
using Series = std::map<Placement, std::map<std::uint32_t, Quantities>>;  // by number of ranks

bool compares(const Series& series) {
  return series.contains(Placement::pvas) && series.contains(Placement::process);
}

void add_found(const std::string& title, const Series& series, Report& report) {
  for (const auto& [ranks, ignored] : series.begin()->second) {
    for (const char* quantity : kQuantities) {
      const char* unit = std::string(quantity) == "round" ? "ns" : "B";
      for (const auto& [placement, found] : series) {
        const double value = found.at(ranks).at(quantity);
        Row row{.name = fmt::format("{} ranks, {}, {}", ranks, to_string(placement), quantity),
                .unit = unit,
                .value = exactly(value),
                .details = {
                    {"ranks", ranks}, {"placement", to_string(placement)}, {"quantity", quantity}, {"value", value}}};
        if (placement == Placement::pvas && compares(series)) {
          row.limit_name = "the same in placement process";
          row.limit = exactly(series.at(Placement::process).at(ranks).at(quantity));
        }
        report.add(title, row);
      }
    }
  }
}

void add_growth(const std::string& title, const Series& series, Report& report) {
  if (series.begin()->second.size() < 2) return;
  for (const auto& [placement, found] : series) {
    std::vector<double> numbers;
    std::vector<double> tables;
    for (const auto& [ranks, quantities] : found) {
      numbers.push_back(ranks);
      tables.push_back(quantities.at(kTables));
    }
    const Growth growth = growth_of(numbers, tables);
    const auto add = [&](const char* what, double value) {
      report.add(title, {.name = fmt::format("{}, page tables {}", to_string(placement), what),
                         .unit = "B",
                         .value = exactly(value),
                         .details = {{"placement", to_string(placement)}, {"growth", what}, {"value", value}}});
    };
    add("per rank", growth.linear);
    add("per pair of ranks", growth.quadratic);
  }
}

void add_savings(const std::string& title, const Series& series, Report& report) {
  if (!compares(series)) return;
  const std::uint32_t ranks = series.begin()->second.rbegin()->first;
  for (const char* quantity : {kTables, kMachineTables, kMemory, kSummed}) {
    const double saved =
        series.at(Placement::process).at(ranks).at(quantity) - series.at(Placement::pvas).at(ranks).at(quantity);
    report.add(title, {.name = fmt::format("saved by pvas at {} ranks, {}", ranks, quantity),
                       .unit = "B",
                       .value = exactly(saved),
                       .details = {{"ranks", ranks}, {"saved", quantity}, {"value", saved}}});
  }
}

/// Processes send through buffers that both sides have mapped, as MPI's shared memory does, also what would be eager.
MessageOptions messages_of(Placement placement) {
  MessageOptions messages;
  if (placement != Placement::process) return messages;
  messages.scheme = RendezvousScheme::shm;
  messages.eager_bytes = 512;  // in the ring
  return messages;
}

class PagetablesBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "pagetables",
            .help = "page tables and memory of all-to-all messages, pvas beside process",
            .ranks = {60, 120, 180, 240},
            .ranks_min = 2,
            .segment_bytes = 16 << 20,
            .in_all = false,  // an hour by itself, in which nothing is timed
            .reads = {"--sizes", "--rounds"}};
  }

  Report measure(Jobs& jobs) override {
    std::vector<std::uint64_t> sizes = jobs.request().choices.sizes;
    if (sizes.empty()) sizes.assign(std::begin(kTableSizes), std::end(kTableSizes));
    Report report;
    for (const std::uint64_t bytes : sizes) {
      Series series;
      for (const std::uint32_t size : ranks(jobs.request()))
        for (const Placement each : jobs.request().placements_or_both())
          series[each][size] = find(jobs, each, size, bytes);
      const std::string of = size_text(bytes);
      add_found(fmt::format("All send to all, blocks of {}: what the whole job takes", of), series, report);
      const std::string growth = fmt::format("All send to all, blocks of {}: how it grows", of);
      add_growth(growth, series, report);
      add_savings(growth, series, report);
    }
    return report;
  }

  Task<> run(Bench& bench) override { return all_to_all(bench); }

 private:
  Quantities find(Jobs& jobs, Placement placement, std::uint32_t size, std::uint64_t bytes) const {
    JobPlan plan = jobs.request().job_of(size);
    plan.placement = placement;
    plan.messages = messages_of(placement);
    plan.told = {{"bytes", bytes}};
    const double before = kilobytes_line("/proc/meminfo", "PageTables:");
    const Report report = jobs.run(*this, plan);
    Quantities found;
    for (const Table& table : report.tables())
      for (const Row& row : table.rows) found[row.name] = row.value.median;
    found[kMachineTables] = std::max(found[kMachineTables] - before, 0.0);
    found[kSummed] = found[kTables] + found[kMemory];
    return found;
  }
};

}  // namespace

std::unique_ptr<Benchmark> pagetables_benchmark() {
  return std::make_unique<PagetablesBenchmark>();
}

}  // namespace coracle::internals::bench
