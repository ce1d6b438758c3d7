// Measuring the first rank, to know about all.
#include "runtime/launch/mapping_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/pvas/mapping_budget.hpp"

namespace coracle::internals {
namespace {

std::size_t mapping_limit() {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::size_t limit = 65530;  // the kernel's own default
  file >> limit;
  return limit;
}

}  // namespace

MappingCheck::MappingCheck() : limit_(mapping_limit()), before_(pvas::count_mappings()), most_(before_) {}

bool MappingCheck::surely_fits(std::uint32_t ranks) const noexcept {
  constexpr std::size_t kMostPerRank = 80;  // a C++ program has some 36, one with many libraries more
  return before_ + ranks * kMostPerRank < limit_;
}

Task<> MappingCheck::watch_first(std::function<bool()> is_up) {
  constexpr int kPolls = 200;
  constexpr int kQuietPolls = 20;
  for (int poll = 0, quiet = 0; poll < kPolls && quiet < kQuietPolls; ++poll, ++quiet) {
    co_await sleep_for(std::chrono::milliseconds(5));
    const bool up = is_up();
    const std::size_t now = pvas::count_mappings();
    if (now > most_) quiet = 0;
    most_ = std::max(most_, now);
    if (up) break;
  }
}

void MappingCheck::refuse(std::uint32_t ranks) const {
  if (most_ == before_) return;
  constexpr std::size_t kLater = 4;  // what a rank maps once it works: heaps, rings
  const std::size_t per_rank = most_ - before_ + kLater;
  const std::size_t wanted = before_ + ranks * per_rank;
  if (wanted < limit_) return;
  throw Error(
      std::make_error_code(std::errc::not_enough_memory),
      fmt::format("{} ranks in one address space need about {} mappings, but vm.max_map_count is {}: room for {} "
                  "ranks of this program. Start fewer, raise it (sysctl vm.max_map_count={}), or use --place process",
                  ranks, wanted, limit_, (limit_ - before_) / per_rank, (wanted / 65536 + 1) * 65536));
}

}  // namespace coracle::internals
