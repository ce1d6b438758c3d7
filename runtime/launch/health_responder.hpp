// HealthResponder: answers ranks of other nodes that ask what has become of a rank of this one.
#pragma once

#include "runtime/core/io.hpp"
#include "runtime/launch/listeners.hpp"
#include "runtime/rank/health.hpp"

namespace coracle::internals {

/// Who knows what has become of ranks.
class HealthSource {
 public:
  /// Of rank `rank`, for one that waits for it; `unknown` for those of other nodes. Nonce and rank are left to the
  /// caller.
  virtual HealthAnswer health(std::uint32_t rank) noexcept = 0;

 protected:
  ~HealthSource() = default;
};

class HealthResponder {
 public:
  HealthResponder(const NodeAddress& address, const JobKey& key);
  ~HealthResponder();
  HealthResponder(const HealthResponder&) = delete;
  HealthResponder& operator=(const HealthResponder&) = delete;

  std::uint16_t port() const noexcept { return socket_.port; }
  /// The socket: readable when there are questions.
  int fd() const noexcept { return socket_.fd; }
  /// Answers the questions that have come.
  void answer_all(HealthSource& source) noexcept;
  /// Answers all; has no end. Until then questions stay where they are.
  Task<> serve(Io& io, HealthSource& source);

 private:
  OpenSocket socket_;
  JobKey key_;
};

}  // namespace coracle::internals
