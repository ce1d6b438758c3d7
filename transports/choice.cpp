// The words for connect.cpp's choice.
#include "transports/choice.hpp"

#include <fmt/format.h>

#include "transports/verbs/support.hpp"

namespace coracle::internals {
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
