// Jobs of several sizes and placements, measured in alternation.
#include "apps/coracle/bench/spawn_table.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>

#include "apps/coracle/bench/job.hpp"
#include "runtime/error.hpp"

extern char** environ;

namespace coracle::internals::bench {
namespace {

const char* const kQuantities[] = {"start", "page tables", "PSS"};
using Samples = std::map<std::string, std::vector<double>>;  // by quantity

/// The kernel's and the dynamic linker's part of a start: the smallest program there is.
Figure plain_spawns(int count) {
  std::vector<double> samples;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  for (int i = 0; i < count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pid_t pid = 0;
    const int error = ::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ);
    if (error != 0) throw_errno(error, "can't start the program true, beside which ranks are measured");
    ::waitpid(pid, nullptr, 0);
    samples.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return figure_of(samples);
}

void measure(const JobPlan& plan, Samples& samples) {
  const Report report = run_job(*find_benchmark("spawn"), plan);
  for (const Table& table : report.tables())
    for (const Row& row : table.rows) samples[row.name].push_back(row.value.median);
}

std::vector<Placement> placements_or_both(std::optional<Placement> placement) {
  return placement ? std::vector{*placement} : std::vector{Placement::pvas, Placement::process};
}

Row row_of(std::uint32_t ranks, const char* quantity, Placement placement, Samples& samples) {
  const bool is_time = std::string(quantity) == "start";
  Row row;
  row.name = fmt::format("{} ranks, {}, {}", ranks, to_string(placement), quantity);
  row.unit = is_time ? "ns" : "B";
  row.value = figure_of(samples[quantity]);
  return row;
}

}  // namespace

Report spawn_table(const std::vector<std::uint32_t>& ranks, std::optional<Placement> placement, bool quick) {
  const std::vector<Placement> placements = placements_or_both(placement);
  const Figure plain = plain_spawns(quick ? 3 : 50);
  Report report;
  for (const std::uint32_t size : ranks) {
    std::map<Placement, Samples> samples;
    const int rounds = quick ? 1 : size > 500 ? 3 : 7;
    for (int round = 0; round < rounds; ++round)
      for (const Placement each : placements)
        measure({each, size, 1, RemoteTransport::automatic, quick}, samples[each]);
    for (const char* quantity : kQuantities) {
      for (const Placement each : placements) {
        Row row = row_of(size, quantity, each, samples[each]);
        if (each == Placement::pvas && placements.size() > 1) {
          row.limit_name = "the same in placement process";
          row.limit = figure_of(samples[Placement::process][quantity]);
        } else if (row.unit == "ns") {
          row.limit_name = "posix_spawn and wait of the program true";
          row.limit = plain;
        }
        report.add("Ranks: time until all have attached, page tables and memory, per rank", row);
      }
    }
  }
  return report;
}

Report node_spawn_table(const std::vector<std::uint32_t>& ranks, std::uint32_t nodes,
                        std::optional<Placement> placement, bool quick) {
  const std::vector<Placement> placements = placements_or_both(placement);
  const Figure plain = plain_spawns(quick ? 3 : 50);
  Report report;
  for (const std::uint32_t size : ranks) {
    std::map<Placement, Samples> samples;
    for (int round = 0; round < (quick ? 1 : 7); ++round)
      for (const Placement each : placements)
        measure({each, std::max(size, nodes), nodes, RemoteTransport::automatic, quick}, samples[each]);
    for (const Placement each : placements) {
      const auto add = [&](const char* quantity, const char* what) {
        Row row;
        row.name = fmt::format("{} ranks on {} nodes, {}, {}", std::max(size, nodes), nodes, to_string(each), what);
        row.value = figure_of(samples[each][quantity]);
        row.limit_name = "as many times posix_spawn and wait of the program true";
        row.limit = scaled(plain, std::max(size, nodes));
        report.add("Jobs over several nodes: time from the command on, all ranks together", row);
      };
      add("attached", "until all have attached");
      add("met", "until their first barrier is over");
    }
  }
  return report;
}

}  // namespace coracle::internals::bench
