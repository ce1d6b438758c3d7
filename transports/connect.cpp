// Choice of transports by placement.
#include "transports/connect.hpp"

#include <memory>

#include "transports/direct/direct.hpp"
#include "transports/direct/other_process.hpp"

namespace coracle {

std::uint64_t transport_inbox_bytes(std::uint32_t size) {
  return direct::inbox_bytes(size);
}

void connect_transports(Rank& rank) {
  const bool own_process = rank.placement() == Placement::process;
  if (own_process) direct::permit_access_by_peers();
  rank.set_transport(std::make_unique<direct::DirectTransport>(rank), true, !own_process);
}

}  // namespace coracle
