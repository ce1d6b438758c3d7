#include "collectives/data/room.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"
#include "runtime/job/memory_room.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

void refuse_results(const Team& team, const char* what, std::size_t count, std::size_t bytes) {
  // Elsewhere each rank has its own memory, or its own share of the machine's.
  if (team.rank().placement() != Placement::sim) return;
  const MemoryRoom room = memory_room();
  const std::uint64_t each = std::uint64_t{count} * bytes;
  if (each <= room.all_bytes() / team.size()) return;
  const auto needed = static_cast<double>(each) * team.size() / (1 << 30);
  throw Error(std::make_error_code(std::errc::not_enough_memory),
              fmt::format("{} would give {} elements of {} bytes to each of {} ranks, which are all in this process: "
                          "{:.1f} GiB, and there are {}; start fewer ranks (-n), or let each rank have only what it "
                          "needs: gather() gives all to one, send() and recv() tell a neighbour",
                          what, count, bytes, team.size(), needed, room.text()));
}

}  // namespace coracle::internals
