// PmixRank: a rank that a resource manager has started itself, without a launcher of Coracle (`mpirun -n 4 ./app`).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/listeners.hpp"
#include "runtime/launch/pmix_client.hpp"

namespace coracle::internals {

/// Each such process is a node of its own, with a region for one rank. A small thread answers for its health: when the
/// process is stopped or dead nobody answers, which says as much.
class PmixRank final : private HealthSource {
 public:
  /// Joins the job: waits for the others. Throws Error.
  explicit PmixRank(std::uint64_t inbox_bytes);
  ~PmixRank();
  PmixRank(const PmixRank&) = delete;
  PmixRank& operator=(const PmixRank&) = delete;

  const JobRegion& region() const noexcept { return *region_; }
  std::uint32_t rank() const noexcept { return client_->rank(); }
  std::uint32_t program() const { return client_->program(); }
  /// The rank's program has ended: waits for the others' if it has ended well, else ends them.
  void finish(int exit_status);

 private:
  HealthAnswer health(std::uint32_t rank) noexcept override;
  void answer_health();

  std::unique_ptr<PmixClient> client_;
  std::unique_ptr<JobRegion> region_;
  std::unique_ptr<HealthResponder> responder_;
  OpenSocket listener_;
  FileDescriptor stop_fd_;
  std::thread thread_;
};

}  // namespace coracle::internals
