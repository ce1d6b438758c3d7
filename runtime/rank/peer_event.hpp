// PeerEvent and MoreLost: the waits that end with the loss of a peer.
#pragma once

#include <cstdint>

#include "runtime/core/scope.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals {

/// What a message of one peer brings about: set by its handler, once, and awaited by one coroutine, once
/// (`co_await event;`). The wait throws Error (peer_lost) when that peer is lost first. It lives where the handler
/// finds it; nothing of a lost peer is taken in, so that it may die then.
class PeerEvent final : public Waiter, private LossObserver {
 public:
  /// Cancellation does not end the wait: the peer holds this event's address until it has answered.
  PeerEvent(RankCore& core, const char* what, std::uint32_t peer) noexcept
      : PeerEvent(core, what, peer, core.peers().observers(), false) {}
  /// For collectives: neither does it here, but `cancelled(context)` is told, once or more, from inside Scope::cancel.
  /// It may not end any wait at once.
  PeerEvent(RankCore& core, const char* what, std::uint32_t peer, void (*cancelled)(void*), void* context) noexcept
      : PeerEvent(core, what, peer) {
    cancelled_ = cancelled;
    context_ = context;
  }
  /// For collectives: ends with the loss of any member of a team, whose `observers` these are, and by cancellation.
  PeerEvent(RankCore& core, const char* what, std::uint32_t peer, LossObservers& observers) noexcept
      : PeerEvent(core, what, peer, observers, true) {}

  /// What is awaited, for explanations; without it, what a team's members do, or that the peer's runtime answers.
  void explain(const WaitDetail& detail) noexcept { detail_ = detail; }
  WaitDetail detail() const noexcept override { return detail_; }

  void set() noexcept {
    set_ = true;
    if (!waiting()) return;
    leave();
    complete();
  }

  bool await_ready() const noexcept { return set_ || core_.peers().lost(lost_); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, interruptible_)) return false;
    observers_.add(*this);
    if (cancelled_ != nullptr && self.promise().scope().cancelled()) cancelled_(context_);
    return true;
  }
  void await_resume() const {
    if (set_) return;
    throw_if_failed();
    core_.peers().throw_lost(what(), lost_);
  }

 private:
  PeerEvent(RankCore& core, const char* what, std::uint32_t peer, LossObservers& observers, bool interruptible) noexcept
      : Waiter(what, static_cast<int>(peer)),
        core_(core),
        observers_(observers),
        lost_(peer),
        team_(&observers != &core.peers().observers()),
        interruptible_(interruptible) {}

  /// A team tells of its members only.
  bool concerns(std::uint32_t peer) const noexcept override { return team_ || peer == lost_; }
  void lost(const Loss& loss) noexcept override {
    if (!PeerEvent::concerns(loss.peer)) return;
    lost_ = loss.peer;
    leave();
    complete();
  }
  void cancel(std::error_code reason) noexcept override {
    if (cancelled_ != nullptr) cancelled_(context_);
    if (!interruptible_) return;
    leave();
    complete(reason);
  }

  RankCore& core_;
  LossObservers& observers_;
  void (*cancelled_)(void*) = nullptr;
  void* context_ = nullptr;
  std::uint32_t lost_;  // who is lost, once one is; until then the peer
  bool team_;
  bool interruptible_;
  bool set_ = false;
  WaitDetail detail_{team_ ? WaitKind::collective : WaitKind::operation};
};

/// Waits until more than `known` peers are lost; gives how many are. While it waits, all peers' health is asked after.
class [[nodiscard]] MoreLost final : public Waiter, private LossObserver {
 public:
  MoreLost(RankCore& core, std::size_t known) noexcept : Waiter("loss of a peer"), core_(core), known_(known) {}
  WaitDetail detail() const noexcept override { return {WaitKind::loss}; }

  bool await_ready() const noexcept { return core_.peers().losses().size() > known_; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    core_.peers().observers().add(*this);
    return true;
  }
  std::size_t await_resume() const {
    throw_if_failed();
    return core_.peers().losses().size();
  }

 private:
  bool concerns(std::uint32_t) const noexcept override { return true; }
  void lost(const Loss&) noexcept override {
    if (core_.peers().losses().size() <= known_) return;
    leave();
    complete();
  }
  void cancel(std::error_code reason) noexcept override {
    leave();
    complete(reason);
  }

  RankCore& core_;
  std::size_t known_;
};

}  // namespace coracle::internals
