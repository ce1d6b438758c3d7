// Choice of transports by placement.
#include "transports/connect.hpp"

#include <memory>
#include <utility>

#include "transports/direct/direct.hpp"
#include "transports/direct/other_process.hpp"
#include "transports/tca/device_thread.hpp"
#include "transports/tca/tca_transport.hpp"
#include "transports/tcp/tcp.hpp"
#include "transports/verbs/support.hpp"

namespace coracle::internals {

std::uint64_t transport_inbox_bytes(std::uint32_t size) {
  return direct::inbox_bytes(size);
}

std::uint64_t transport_inbox_bytes(std::uint32_t size, RemoteTransport transport) {
  return transport == RemoteTransport::tca ? tca::PacketArea::bytes(size) : direct::inbox_bytes(size);
}

namespace {

/// By RDMA where it can be had or was asked for, else by TCP; which is also what RDMA connections are arranged by.
void connect_to_other_nodes(Rank& rank) {
  auto tcp = std::make_unique<tcp::TcpTransport>(rank);
  Transport* way = tcp.get();
  rank.core().add_transport(std::move(tcp));
  const RemoteTransport wanted = rank.core().region().shape().network.transport;
  if (wanted != RemoteTransport::tcp) {
    if (auto verbs = verbs::make_transport(rank, *way, wanted == RemoteTransport::verbs)) {
      way = verbs.get();
      rank.core().add_transport(std::move(verbs));
    }
  }
  for (std::uint32_t node = 0; node < rank.nodes(); ++node)
    if (node != rank.node()) rank.core().set_route(node, *way);
}

}  // namespace

void connect_transports(Rank& rank) {
  const bool own_process = rank.placement() == Placement::process;
  if (rank.core().region().shape().network.transport == RemoteTransport::tca) {
    auto device = std::make_unique<tca::DeviceThread>(rank.core().region(), rank.id(), tca::Peach2Model());
    tca::DmaOptions options;
    options.stall_limit_ns = 2'000'000'000;  // a device is a thread here, which may have to wait for a core
    return rank.core().set_transport(std::make_unique<tca::TcaTransport>(rank, std::move(device), options), false,
                                     !own_process);
  }
  if (own_process) direct::permit_access_by_peers();
  rank.core().set_transport(std::make_unique<direct::DirectTransport>(rank), true, !own_process);
  if (rank.core().region().ranks() < rank.size()) connect_to_other_nodes(rank);
}

}  // namespace coracle::internals
