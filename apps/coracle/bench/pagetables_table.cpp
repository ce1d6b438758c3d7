// Rows, fits and savings.
#include "apps/coracle/bench/pagetables_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "apps/coracle/bench/growth.hpp"
#include "apps/coracle/bench/job.hpp"
#include "apps/coracle/bench/process_memory.hpp"

namespace coracle::internals::bench {
namespace {

// 2 KiB and 16 KiB: what the paper sent eagerly, and by rendezvous.
constexpr std::uint64_t kTableSizes[] = {2048, 16384};

constexpr const char* kTables = "page tables";
constexpr const char* kMachineTables = "page tables of the machine";
constexpr const char* kMemory = "PSS";
constexpr const char* kSummed = "page tables and PSS";
constexpr const char* kQuantities[] = {kTables, kMachineTables, kMemory, kSummed, "RSS", "round"};

using Found = std::map<std::string, double>;                         // by quantity
using Series = std::map<Placement, std::map<std::uint32_t, Found>>;  // by number of ranks

Found measure(const JobPlan& plan) {
  const double before = kilobytes_line("/proc/meminfo", "PageTables:");
  const Report report = run_job(*find_benchmark("pagetables"), plan);
  Found found;
  for (const Table& table : report.tables())
    for (const Row& row : table.rows) found[row.name] = row.value.median;
  found[kMachineTables] = std::max(found[kMachineTables] - before, 0.0);
  found[kSummed] = found[kTables] + found[kMemory];
  return found;
}

Row row_of(std::string name, const char* unit, double value) {
  Row row;
  row.name = std::move(name);
  row.unit = unit;
  row.value = {value, value, value};
  return row;
}

bool compares(const Series& series) {
  return series.contains(Placement::pvas) && series.contains(Placement::process);
}

void add_found(const std::string& title, const Series& series, Report& report) {
  for (const auto& [ranks, ignored] : series.begin()->second) {
    for (const char* quantity : kQuantities) {
      const char* unit = std::string(quantity) == "round" ? "ns" : "B";
      for (const auto& [placement, found] : series) {
        const double value = found.at(ranks).at(quantity);
        Row row = row_of(fmt::format("{} ranks, {}, {}", ranks, to_string(placement), quantity), unit, value);
        row.details = {{"ranks", ranks}, {"placement", to_string(placement)}, {"quantity", quantity}, {"value", value}};
        if (placement == Placement::pvas && compares(series)) {
          const double other = series.at(Placement::process).at(ranks).at(quantity);
          row.limit_name = "the same in placement process";
          row.limit = {other, other, other};
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
      Row row = row_of(fmt::format("{}, page tables {}", to_string(placement), what), "B", value);
      row.details = {{"placement", to_string(placement)}, {"growth", what}, {"value", value}};
      report.add(title, row);
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
    Row row = row_of(fmt::format("saved by pvas at {} ranks, {}", ranks, quantity), "B", saved);
    row.details = {{"ranks", ranks}, {"saved", quantity}, {"value", saved}};
    report.add(title, row);
  }
}

}  // namespace

Report pagetables_table(const std::vector<std::uint32_t>& ranks, std::optional<Placement> placement,
                        const Choices& choices, bool quick) {
  const std::vector<Placement> placements =
      placement ? std::vector{*placement} : std::vector{Placement::pvas, Placement::process};
  std::vector<std::uint64_t> sizes = choices.sizes;
  if (sizes.empty()) sizes.assign(std::begin(kTableSizes), std::end(kTableSizes));
  Report report;
  for (const std::uint64_t bytes : sizes) {
    Series series;
    for (const std::uint32_t size : ranks) {
      for (const Placement each : placements) {
        JobPlan plan;
        plan.placement = each;
        plan.ranks = size;
        plan.quick = quick;
        plan.choices = choices;
        plan.choices.sizes = {bytes};
        series[each][size] = measure(plan);
      }
    }
    const std::string of = size_text(static_cast<double>(bytes));
    add_found(fmt::format("All send to all, blocks of {}: what the whole job takes", of), series, report);
    const std::string growth = fmt::format("All send to all, blocks of {}: how it grows", of);
    add_growth(growth, series, report);
    add_savings(growth, series, report);
  }
  return report;
}

}  // namespace coracle::internals::bench
