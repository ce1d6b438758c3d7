// FlagWait: waiting for a Flag; and FenceOfAll, by which those who wait pay for the fence of those who raise it.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/core/polled_waits.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/job/flag.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/peers.hpp"

namespace coracle::internals {

/// One rank makes all ranks of its node pass a memory fence (membarrier). So what happens often, telling others, needs
/// no fence of its own; what happens rarely, going to sleep, pays for both.
class FenceOfAll {
 public:
  /// In every rank of the node, before it is used anywhere.
  explicit FenceOfAll(Placement placement) noexcept;
  /// False where the kernel has no such call: the same in all ranks of a node, which run under one kernel.
  bool works() const noexcept { return command_ != 0; }
  /// All ranks' loads and stores that come before in program order are seen here, and all that come after see what this
  /// rank has stored before. Some microseconds. Only where it works.
  void pass() const noexcept;

 private:
  int command_ = 0;
};

class FlagWait;

/// The flags that coroutines of this rank wait for.
class FlagWaits final : public PolledWaits<FlagWait> {
 public:
  FlagWaits(Scheduler& loop, Peers& peers) noexcept : PolledWaits(loop), peers_(peers) {}
  bool poll() noexcept override;
  void about_to_sleep() noexcept override;
  void add(FlagWait& wait);
  /// `sim`: the loop never sleeps, it is turned when it is woken; so waiters always count as sleepers.
  void always_announce() noexcept { announces_ = true; }
  /// Raisers may be light from now on; all ranks of the node do this, or none.
  void fence_before_sleep(const FenceOfAll& fence) noexcept { fence_ = fence; }
  bool fences() const noexcept { return fence_.has_value(); }
  /// Whether others may raise a flag while this rank looks at it; in `sim` they run when it waits.
  bool look_on() const noexcept { return loop().spins() && !announces_; }
  /// For others of this rank's loop that wait for what is raised lightly: between their saying so and their last look.
  void pass_fence() const noexcept {
    if (fence_) fence_->pass();
  }

 private:
  friend class FlagWait;

  Peers& peers_;
  bool announces_ = false;
  std::optional<FenceOfAll> fence_;
};

/// Looks for a flag where every rank has a core of its own: what is awaited mostly comes within the time of a cache
/// line's way, and looking on for a microsecond or two costs less than suspending.
bool look_for(const Flag& flag, std::uint64_t at_least) noexcept;

/// Waits until a flag has reached a value; throws Error (peer_lost) when `observers` (of a team) tell of a loss before.
class [[nodiscard]] FlagWait final : public Waiter, private LossObserver {
 public:
  /// `bit`: of this rank among the flag's sleepers; `peer`: who will raise it, or -1.
  FlagWait(FlagWaits& waits, Flag& flag, std::uint64_t at_least, std::uint64_t bit, LossObservers& observers,
           int peer) noexcept
      : Waiter("flag", peer), waits_(waits), flag_(flag), at_least_(at_least), bit_(bit), observers_(observers) {}

  WaitDetail detail() const noexcept override { return {WaitKind::collective}; }
  bool await_ready() const noexcept {
    return flag_.reached(at_least_) || (waits_.look_on() && look_for(flag_, at_least_));
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    begin();
    return true;
  }
  void await_resume() {
    leave();
    if (flag_.reached(at_least_)) [[likely]]
      return;
    fail();
  }

 private:
  friend class FlagWaits;
  friend class PolledWaits<FlagWait>;
  bool reached() const noexcept { return flag_.reached(at_least_); }
  void begin();
  [[noreturn]] void fail();
  bool concerns(std::uint32_t) const noexcept override { return true; }  // only members of the team are told of
  void lost(const Loss& loss) noexcept override;
  void cancel(std::error_code reason) noexcept override;

  FlagWaits& waits_;
  Flag& flag_;
  std::uint64_t at_least_;
  std::uint64_t bit_;
  LossObservers& observers_;
  std::uint32_t lost_ = ~std::uint32_t{0};
};

}  // namespace coracle::internals
