// The verbs transport as the rest of Coracle sees it, whether or not it was built: what it would take to use it here,
// and how to make one.
#pragma once

#include <memory>
#include <string>

#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"

namespace coracle::internals::verbs {

/// Whether RDMA can be used here, and how or why not.
struct Support {
  bool available = false;
  bool software = false;  ///< The kernel plays the device.
  std::string detail;     ///< Device, port and GID; or the reason why not.
  std::string remedy;     ///< What to do about it; empty when available.
};

/// Opens the device that ranks would use, registers some memory, and closes it again. Some milliseconds.
Support probe();

/// RDMA to ranks of other nodes. Connections are made on demand, by messages over `control`, which must outlive the
/// transport and reach every rank that this one will. With `must`, throws Error with reason and remedy where probe()
/// says no, or the segment can't be pinned, and a peer without RDMA is lost. Else gives null there, and also for a
/// device in software, which is slower than the network below it; what is for a peer without RDMA goes to `control`.
std::unique_ptr<Transport> make_transport(Rank& rank, Transport& control, bool must);

}  // namespace coracle::internals::verbs
