// GivenMemory: what memory the owner of the GPUs has given to ranks, on GPUs and pinned.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "transports/cuda/command_queue.hpp"

namespace coracle::internals::cuda {

class GivenMemory {
 public:
  explicit GivenMemory(CudaApi& api) noexcept : api_(api) {}

  /// Each with the address.
  Status allocate(const DeviceCommand& command, std::uint64_t& address);
  Status allocate_pinned(std::size_t bytes, std::uint64_t& address);
  /// Memory of either kind.
  Status give_back(const DeviceCommand& command);
  /// Likewise, later: the driver would wait for all work, of any rank.
  void put_off(const DeviceCommand& command) { returned_.push_back(command); }

  bool has_returned() const noexcept { return !returned_.empty(); }
  /// Gives back what was put off. `leave`: leaves it to the end of the process instead.
  void end_returned(bool leave) noexcept;

 private:
  CudaApi& api_;
  std::vector<DeviceCommand> returned_;
  std::map<std::uint64_t, std::size_t> pinned_;
};

}  // namespace coracle::internals::cuda
