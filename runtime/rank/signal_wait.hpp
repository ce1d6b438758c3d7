// SignalWait: waiting for a signal of this rank.
#pragma once

#include <coroutine>
#include <cstdint>

#include "runtime/core/polled_waits.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/rank/peers.hpp"

namespace coracle::internals {

class SignalWait;

extern template class PolledWaits<SignalWait>;

/// The signals that coroutines of this rank wait for.
class SignalWaits final : public PolledWaits<SignalWait> {
 public:
  SignalWaits(Scheduler& loop, Peers& peers) noexcept : PolledWaits(loop), peers_(peers) {}
  Peers& peers() const noexcept { return peers_; }

 private:
  Peers& peers_;
};

/// Waits until a signal of this rank has reached a value.
class [[nodiscard]] SignalWait : public Waiter {
 public:
  SignalWait(SignalWaits& waits, Signal& signal, std::uint64_t at_least) noexcept
      : SignalWait(waits, signal, at_least, -1) {}

  bool await_ready() const noexcept { return reached(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    waits_.add(*this);
    return true;
  }
  /// The value found; at least what was asked for.
  std::uint64_t await_resume() const {
    throw_if_failed();
    return signal_.value();
  }
  WaitDetail detail() const noexcept override { return {WaitKind::signal}; }

 protected:
  SignalWait(SignalWaits& waits, Signal& signal, std::uint64_t at_least, int peer) noexcept
      : Waiter("signal", peer), waits_(waits), signal_(signal), at_least_(at_least) {}

  bool reached() const noexcept { return signal_.value() >= at_least_; }
  /// Ends the wait early.
  void give_up() noexcept { waits_.remove(*this); }
  const Peers& peers() const noexcept { return waits_.peers(); }

 private:
  friend class PolledWaits<SignalWait>;
  void cancel(std::error_code reason) noexcept override {
    give_up();
    complete(reason);
  }

  SignalWaits& waits_;
  Signal& signal_;
  std::uint64_t at_least_;
};

/// Waits for a signal that a certain peer, or the members of a team, will raise: throws Error (peer_lost) when it, or
/// one of them, is lost before.
class [[nodiscard]] GuardedSignalWait final : public SignalWait, private LossObserver {
 public:
  GuardedSignalWait(SignalWaits& waits, Signal& signal, std::uint64_t at_least, std::uint32_t from) noexcept
      : SignalWait(waits, signal, at_least, static_cast<int>(from)),
        observers_(waits.peers().observers()),
        from_(from) {}
  /// For collectives: `observers` of the team. The caller has looked whether the team is whole.
  GuardedSignalWait(SignalWaits& waits, Signal& signal, std::uint64_t at_least, LossObservers& observers) noexcept
      : SignalWait(waits, signal, at_least, -1), observers_(observers), from_(kTeam) {}

  WaitDetail detail() const noexcept override { return {from_ == kTeam ? WaitKind::collective : WaitKind::signal}; }
  bool await_ready() const noexcept { return reached() || peers().lost(from_); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!SignalWait::await_suspend(self)) return false;
    observers_.add(*this);
    return true;
  }
  std::uint64_t await_resume() {
    leave();
    if (!failed() && !reached()) peers().throw_lost(what(), from_);
    return SignalWait::await_resume();
  }

 private:
  static constexpr std::uint32_t kTeam = ~std::uint32_t{0};

  bool concerns(std::uint32_t peer) const noexcept override { return from_ == kTeam || peer == from_; }
  void lost(const Loss& loss) noexcept override {
    if (!waiting() || !GuardedSignalWait::concerns(loss.peer)) return;  // or the signal came first
    from_ = loss.peer;
    give_up();
    complete();
  }

  LossObservers& observers_;
  std::uint32_t from_;  // who is lost, once one is
};

}  // namespace coracle::internals
