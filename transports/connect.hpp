// Gives ranks their transports; and says which transport joins which ranks, and why, in words for the user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/directory.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/boot.hpp"

namespace coracle::internals {

/// Bytes of inbox per rank that the transports of a job of this size want in the job's region.
std::uint64_t transport_inbox_bytes(std::uint32_t size);
/// The same, for a transport that was asked for.
std::uint64_t transport_inbox_bytes(std::uint32_t size, RemoteTransport transport);
/// The best transport to every peer, by placement.
void connect_transports(Rank& rank);

/// One line per class of pairs that a job of this shape has: ranks of one node, ranks of two. `sim` has none. What is
/// said of two nodes is this machine's view: that of the node where the job is started.
std::vector<std::string> describe_transports(const JobShape& shape);

/// "tcp" or "verbs", as seen from this machine.
const char* transport_between_nodes(const JobShape& shape);

}  // namespace coracle::internals
