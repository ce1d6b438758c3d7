// Choice of transports by placement, and the words for it.
#include "transports/connect.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "runtime/core/other_memory.hpp"
#include "transports/direct/direct.hpp"
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
  rank.core().routes().add(std::move(tcp));
  const RemoteTransport wanted = rank.core().region().shape().network.transport;
  if (wanted != RemoteTransport::tcp) {
    if (auto verbs = verbs::make_transport(rank, *way, wanted == RemoteTransport::verbs)) {
      way = verbs.get();
      rank.core().routes().add(std::move(verbs));
    }
  }
  for (std::uint32_t node = 0; node < rank.nodes(); ++node)
    if (node != rank.node()) rank.core().routes().set_route(node, *way);
}

}  // namespace

void connect_transports(Rank& rank) {
  const bool own_process = rank.placement() == Placement::process;
  if (own_process) permit_other_processes();
  if (rank.core().region().shape().network.transport == RemoteTransport::tca) {
    auto device = std::make_unique<tca::DeviceThread>(rank.core().region(), rank.id(), tca::Peach2Model());
    tca::DmaOptions options;
    options.stall_limit_ns = 2'000'000'000;  // a device is a thread here, which may have to wait for a core
    return rank.core().set_transport(std::make_unique<tca::TcaTransport>(rank, std::move(device), options), false,
                                     !own_process);
  }
  rank.core().set_transport(std::make_unique<direct::DirectTransport>(rank), true, !own_process);
  if (rank.core().region().ranks() < rank.size()) connect_to_other_nodes(rank);
}

namespace {

std::string within_a_node(Placement placement) {
  switch (placement) {
    case Placement::pvas:
      return "within a node: direct (all its ranks share one address space)";
    case Placement::process:
      return "within a node: direct (segments in shared memory, the rest by process_vm_readv)";
    case Placement::thread:
      return "within a node: direct (its ranks are threads of one process)";
    case Placement::sim:
      break;
  }
  return "simulated network";
}

std::string between_nodes(RemoteTransport wanted) {
  if (wanted == RemoteTransport::tcp) return "between nodes: tcp (--transport tcp)";
  const verbs::Support rdma = verbs::probe();
  if (wanted == RemoteTransport::verbs)
    return rdma.available
               ? fmt::format("between nodes: verbs (--transport verbs): {}", rdma.detail)
               : fmt::format("between nodes: verbs (--transport verbs), but {}; {}", rdma.detail, rdma.remedy);
  if (!rdma.available) return fmt::format("between nodes: tcp ({})", rdma.detail);
  if (rdma.software) return fmt::format("between nodes: tcp ({}, is slower)", rdma.detail);
  return fmt::format("between nodes: verbs ({})", rdma.detail);
}

}  // namespace

const char* transport_between_nodes(const JobShape& shape) {
  if (shape.network.transport == RemoteTransport::tcp) return "tcp";
  if (shape.network.transport == RemoteTransport::verbs) return "verbs";
  const verbs::Support rdma = verbs::probe();
  return rdma.available && !rdma.software ? "verbs" : "tcp";
}

std::vector<std::string> describe_transports(const JobShape& shape) {
  if (shape.placement == Placement::sim) return {};
  std::vector<std::string> lines;
  if (shape.network.transport == RemoteTransport::tca) return {"between ranks: tca (PEACH2 boards in software)"};
  if (shape.size > shape.nodes) lines.push_back(within_a_node(shape.placement));
  if (shape.nodes > 1) lines.push_back(between_nodes(shape.network.transport));
  return lines;
}

}  // namespace coracle::internals
