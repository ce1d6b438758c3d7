// Sockets that a launcher opens before its ranks exist, so that whoever connects can't be too early; and
// HealthResponder, which answers at one of them.
#pragma once

#include <cstdint>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/io.hpp"
#include "runtime/job/directory.hpp"
#include "runtime/rank/health.hpp"

namespace coracle::internals {

struct OpenSocket {
  FileDescriptor fd;  ///< Close-on-exec.
  std::uint16_t port = 0;
};

/// A listening TCP socket at a free port of `address`, or of all the machine's addresses for family `none`. Throws
/// Error.
OpenSocket open_listener(const NodeAddress& address);

/// A UDP socket, non-blocking, likewise.
OpenSocket open_datagram_socket(const NodeAddress& address);

/// Who knows what has become of ranks.
class HealthSource {
 public:
  /// Of rank `rank`, for one that waits for it; `unknown` for those of other nodes. Nonce and rank are left to the
  /// caller.
  virtual HealthAnswer health(std::uint32_t rank) noexcept = 0;

 protected:
  ~HealthSource() = default;
};

/// Answers ranks of other nodes that ask what has become of a rank of this one.
class HealthResponder {
 public:
  HealthResponder(const NodeAddress& address, const JobKey& key);
  HealthResponder(const HealthResponder&) = delete;
  HealthResponder& operator=(const HealthResponder&) = delete;

  std::uint16_t port() const noexcept { return socket_.port; }
  /// The socket: readable when there are questions.
  int fd() const noexcept { return socket_.fd.get(); }
  /// Answers the questions that have come.
  void answer_all(HealthSource& source) noexcept;
  /// Answers all; has no end. Until then questions stay where they are.
  Task<> serve(Io& io, HealthSource& source);

 private:
  OpenSocket socket_;
  JobKey key_;
};

}  // namespace coracle::internals
