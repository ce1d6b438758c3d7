// `coracle bench pagetables`, a rank's part: all send to all, again and again, and then the kernel is asked what memory
// and page tables that has taken.
//
// Source: the all-to-all of 60 to 240 processes of Shimada, Hori and Ishikawa (PVAS, IPSJ 2015).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/process_memory.hpp"
#include "collectives/collectives.hpp"
#include "runtime/combinators.hpp"
#include "runtime/error.hpp"
#include "runtime/messages/send_recv.hpp"
#include "runtime/started.hpp"

namespace coracle::internals::bench {
namespace {

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
  if (bench.choices.rounds != 0) return bench.choices.rounds;
  return bench.plan.quick ? kRoundsQuick : kRounds;
}

}  // namespace

Task<> bench_pagetables(Bench& bench) {
  Rank& self = bench.self;
  const std::uint64_t rounds = rounds_of(bench);
  Blocks blocks(self, bench.choices.sizes.empty() ? 2048 : bench.choices.sizes.front());
  co_await self.world().barrier();
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  for (std::uint64_t round = 0; round < rounds; ++round) co_await blocks.exchange(round);
  co_await self.world().barrier();
  if (bench.keeps_time()) {
    const double round_ns = static_cast<double>(self.loop().exact_now_ns() - begin_ns) / static_cast<double>(rounds);
    const ProcessMemory memory = memory_of_all(self);
    const auto add = [&](const char* name, const char* unit, double value) {
      Row row;
      row.name = name;
      row.unit = unit;
      row.value = {value, value, value};
      bench.report.add("pagetables", row);
    };
    add("page tables", "B", memory.page_tables);
    add("page tables of the machine", "B", kilobytes_line("/proc/meminfo", "PageTables:"));
    add("PSS", "B", memory.proportional);
    add("RSS", "B", memory.resident);
    add("round", "ns", round_ns);
  }
  co_await self.world().barrier();  // the others stay alive until rank 0 has looked at them
}

}  // namespace coracle::internals::bench
