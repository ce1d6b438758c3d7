// OwnerLink: a rank's way to the process that owns the GPUs of its node, where all ranks share one address space.
#pragma once

#include <deque>
#include <string>

#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "transports/cuda/command_queue.hpp"

namespace coracle::internals::cuda {

/// How long a rank waits for an owner that says nothing.
struct OwnerPatience {
  std::uint64_t answer_ns = 60'000'000'000;  ///< In a call, before the owner is doubted.
  std::uint64_t sign_ns = 10'000'000'000;    ///< For the sign of life that it is asked for then.
  std::uint64_t kill_ns = 10'000'000'000;    ///< For the launcher that is to kill it: far more than that takes.
};

/// Rank's thread only.
class OwnerLink {
 public:
  /// Ends when the owner serves: the first who asks has the launcher start it. Throws Error (unsupported) where there
  /// is none, or it does not come within a minute.
  static Task<> summon(const JobRegion& region);
  /// After summon(). The region must outlive it. `number`: of the rank's queues, see CommandQueues.
  OwnerLink(const JobRegion& region, std::uint32_t rank, unsigned number = 0, const OwnerPatience& patience = {});
  OwnerLink(const OwnerLink&) = delete;
  OwnerLink& operator=(const OwnerLink&) = delete;

  /// In order; never waits. Returns the number of commands until and with this one: see taken().
  std::uint64_t post(const DeviceCommand& command) noexcept;
  /// Hands over what has waited for room.
  void flush() noexcept;
  /// How many commands the owner has dealt with; all, when it is gone.
  std::uint64_t taken() const noexcept;
  /// Waits for the answer, which holds until the next call: milliseconds, or as long as the driver takes. Throws Error
  /// (device_failed) when the owner is gone; one that gives no sign of life is given up, see doubt().
  const Answer& call(const DeviceCommand& asked);

  /// Whether nothing comes from the owner any more.
  bool gone() const noexcept;
  /// Whether the driver may be what keeps it from answering.
  bool busy(std::uint64_t now_ns) const noexcept;
  /// It should have told something long ago: asks it for a sign of life, again and again as it is called. Where none
  /// comes, though the owner is not busy, the launcher is asked to kill it, so that it reads nothing that the rank
  /// takes back; and where that does not happen, or nobody is there to do it, this rank takes it for gone all the same.
  /// To be called every second or more often while that which it should have told is waited for.
  void doubt(std::uint64_t now_ns);
  std::string why_gone() const;

  const ChannelWord& channel(unsigned index) const noexcept { return queue_.channels[index]; }

 private:
  void ring_owner() noexcept;
  bool await_answer(std::uint32_t number) const noexcept;

  DeviceOwnerRecord& record_;
  CommandQueues& queues_;
  const std::uint64_t place_;
  CommandQueue& queue_;
  std::deque<DeviceCommand> waiting_;  // the ring was full
  std::uint64_t posted_ = 0;
  std::uint32_t calls_ = 0;
  const OwnerPatience patience_;
  std::uint64_t sign_ = 0;  // the number of the command that is to be taken; 0: none
  std::uint64_t sign_until_ns_ = 0;
  std::uint64_t kill_asked_ns_ = 0;
  std::string given_up_;
};

}  // namespace coracle::internals::cuda
