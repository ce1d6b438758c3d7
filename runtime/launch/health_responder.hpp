// HealthResponder: answers ranks of other nodes that ask what has become of a rank of this one.
#pragma once

#include "runtime/directory.hpp"
#include "runtime/launch/attendant.hpp"
#include "runtime/launch/listeners.hpp"

namespace coracle {

class Supervisor;

class HealthResponder final : public Attendant {
 public:
  HealthResponder(const NodeAddress& address, const JobKey& key);
  ~HealthResponder() override;
  HealthResponder(const HealthResponder&) = delete;
  HealthResponder& operator=(const HealthResponder&) = delete;

  std::uint16_t port() const noexcept { return socket_.port; }
  /// Who knows; until then questions stay where they are.
  void set_supervisor(const Supervisor& supervisor) noexcept { supervisor_ = &supervisor; }

  void want(std::vector<pollfd>& set) const override;
  void attend() override;

 private:
  OpenSocket socket_;
  JobKey key_;
  const Supervisor* supervisor_ = nullptr;
};

}  // namespace coracle
