// Refusals.
#include "collectives/data/host_memory.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"
#include "runtime/rank/memory_domain.hpp"

namespace coracle::internals {

bool on_device(const MemoryDomain& devices, std::span<const std::byte> bytes) noexcept {
  return !bytes.empty() && devices.covers(bytes.data());
}

Task<> refuse_device(Team& team, CollectiveCall call) {
  // Also where another member has just refused and broken the team: each is told what it can mend itself.
  const Participation participation(team, call);
  throw Error(Errc::unsupported, fmt::format("rank {}: {} does not take a GPU's memory: copy it to host memory first, "
                                             "and back afterwards (Rank::get and put do)",
                                             team.rank().id(), name_of(call.called)));
  co_return;
}

}  // namespace coracle::internals
