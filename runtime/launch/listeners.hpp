// Sockets that a launcher opens before its ranks exist, so that whoever connects can't be too early.
#pragma once

#include <cstdint>

#include "runtime/job/directory.hpp"

namespace coracle::internals {

struct OpenSocket {
  int fd = -1;  ///< Close-on-exec; the caller's.
  std::uint16_t port = 0;
};

/// A listening TCP socket at a free port of `address`, or of all the machine's addresses for family `none`. Throws
/// Error.
OpenSocket open_listener(const NodeAddress& address);

/// A UDP socket, non-blocking, likewise.
OpenSocket open_datagram_socket(const NodeAddress& address);

}  // namespace coracle::internals
