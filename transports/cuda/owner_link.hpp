// OwnerLink: a rank's way to the process that owns the GPUs of its node, where all ranks share one address space.
#pragma once

#include <deque>
#include <string>

#include "runtime/job.hpp"
#include "runtime/task.hpp"
#include "transports/cuda/owner_desk.hpp"

namespace coracle::cuda {

/// Rank's thread only.
class OwnerLink {
 public:
  /// Far more than the launcher takes.
  static constexpr std::uint64_t kKillNs = 10'000'000'000;

  /// Ends when the owner serves: the first who asks has the launcher start it. Throws Error (unsupported) where there
  /// is none, or it does not come within a minute.
  static Task<> summon(const JobRegion& region);
  /// After summon(). The region must outlive it. `number`: of the rank's desks, see Desks.
  OwnerLink(const JobRegion& region, std::uint32_t rank, unsigned number = 0);
  OwnerLink(const OwnerLink&) = delete;
  OwnerLink& operator=(const OwnerLink&) = delete;

  /// In order; never waits. Returns the number of requests until and with this one: see taken().
  std::uint64_t post(const Request& request) noexcept;
  /// Hands over what has waited for room.
  void flush() noexcept;
  /// How many requests the owner has dealt with; all, when it is gone.
  std::uint64_t taken() const noexcept;
  /// Waits for the answer, which holds until the next call: milliseconds, or as long as the driver takes. Throws Error
  /// (device_failed) when the owner is gone; one that has not answered for a minute, though it is not busy, is given
  /// up.
  const Answer& call(const Request& asked);

  /// Whether nothing comes from the owner any more.
  bool gone() const noexcept;
  /// Whether the driver may be what keeps it from answering.
  bool busy() const noexcept;
  /// It does not answer any more, for all that is known. The launcher is asked to kill it, so that nothing is read that
  /// the rank takes back; where that does not happen for kKillNs, or nobody is there to do it, this rank takes it for
  /// gone all the same. To be called until it is.
  void give_up(const char* reason);
  std::string why_gone() const;

  const ChannelWord& channel(unsigned index) const noexcept { return desk_.channels[index]; }

 private:
  void ring_owner() noexcept;
  bool await_answer(std::uint32_t number) const noexcept;

  DeviceOwnerRecord& record_;
  Desks& desks_;
  const std::uint64_t place_;
  Desk& desk_;
  std::deque<Request> waiting_;  // the ring was full
  std::uint64_t posted_ = 0;
  std::uint32_t calls_ = 0;
  std::uint64_t kill_asked_ns_ = 0;
  std::string given_up_;
};

}  // namespace coracle::cuda
