// HealthResponder: answers ranks of other nodes that ask what has become of a rank of this one.
#pragma once

#include "runtime/launch/listeners.hpp"
#include "runtime/launch/poll_handler.hpp"
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

class HealthResponder final : public PollHandler {
 public:
  HealthResponder(const NodeAddress& address, const JobKey& key);
  ~HealthResponder() override;
  HealthResponder(const HealthResponder&) = delete;
  HealthResponder& operator=(const HealthResponder&) = delete;

  std::uint16_t port() const noexcept { return socket_.port; }
  /// Until then questions stay where they are.
  void set_source(HealthSource& source) noexcept { source_ = &source; }

  void want(std::vector<pollfd>& set) const override;
  void handle() override;

 private:
  OpenSocket socket_;
  JobKey key_;
  HealthSource* source_ = nullptr;
};

}  // namespace coracle::internals
