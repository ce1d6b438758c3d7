// DeviceOwnerRecord: where the ranks of a node, their launcher and the process that owns the node's devices meet. Under
// `pvas` drivers that bind their files to one process (CUDA) can serve one process only: the owner.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "runtime/core/doorbell.hpp"

namespace coracle::internals {

/// In the job's region; zeroed memory is its first state.
struct DeviceOwnerRecord {
  enum class State : std::uint32_t {
    none,     ///< Not started, or not yet ready.
    serving,  ///< `queues` is set.
    ending,   ///< By the launcher: all ranks have ended.
    ended,    ///< By the launcher: it has died, or could not be started; `reason` says how.
  };

  enum class LauncherRequest : std::uint32_t {
    none,
    start,  ///< By the first rank that needs it.
    kill,   ///< By a rank that gets no answer: from an owner that has ended it can take back what the owner would read.
  };

  /// The environment of the owner's process has it.
  static constexpr const char* kVariable = "CORACLE_DEVICE_OWNER";

  /// The owner sleeps here.
  Doorbell doorbell;
  alignas(64) std::atomic<State> state{State::none};
  /// What ranks want of the launcher; who changes it writes to `call_fd`.
  std::atomic<LauncherRequest> wanted{LauncherRequest::none};
  /// An eventfd that the launcher reads; -1: this job can have no owner.
  std::int32_t call_fd = -1;
  /// What the owner offers to ranks, in its own memory, which stays when it dies.
  std::atomic<std::uint64_t> queues{0};
  std::array<char, 256> reason{};
};

}  // namespace coracle::internals
