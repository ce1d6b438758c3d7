// Refusals.
#include "collectives/data/arguments.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"
#include "runtime/job/memory_room.hpp"
#include "runtime/rank/memory_domain.hpp"

namespace coracle::internals {

void throw_sizes_differ(std::size_t here, std::size_t there, std::uint32_t rank) {
  throw Error(Errc::bad_input, fmt::format("a collective was called with {} bytes here and with {} bytes on rank {}: "
                                           "all members must give the same size",
                                           here, there, rank));
}

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

bool on_device(const MemoryDomain& devices, std::span<const std::byte> bytes) noexcept {
  return !bytes.empty() && devices.covers(bytes.data());
}

void HostParticipation::throw_on_device(const Team& team, const CollectiveCall& call) {
  throw Error(Errc::unsupported, fmt::format("rank {}: {} does not take a GPU's memory: copy it to host memory first, "
                                             "and back afterwards (Rank::get and put do)",
                                             team.rank().id(), name_of(call.called)));
}

}  // namespace coracle::internals
