// Gives ranks their transports.
#pragma once

#include <cstdint>

#include "runtime/job/directory.hpp"
#include "runtime/launch/boot.hpp"

namespace coracle::internals {

/// Bytes of inbox per rank that the transports of a job of this size want in the job's region.
std::uint64_t transport_inbox_bytes(std::uint32_t size);
/// The same, for a transport that was asked for.
std::uint64_t transport_inbox_bytes(std::uint32_t size, RemoteTransport transport);
/// The best transport to every peer, by placement.
void connect_transports(Rank& rank);

}  // namespace coracle::internals
