// What `co_await self.put(...)`, get, fetch_add, request ... await. Each is its Operation; when it can finish at once
// (memory of a peer in the same address space) it is a copy, and the coroutine never suspends.
#pragma once

#include <cstring>
#include <type_traits>

#include "runtime/address_map.hpp"
#include "runtime/atomic_word.hpp"
#include "runtime/message.hpp"
#include "runtime/operation.hpp"
#include "runtime/rank_core.hpp"
#include "runtime/travels.hpp"

namespace coracle::internals {

/// An operation that is awaited where it is made.
template <class Base>
class [[nodiscard]] Awaited : public Base {
 public:
  template <class... Arguments>
  explicit Awaited(RankCore& core, Arguments&&... arguments) noexcept
      : Base(std::forward<Arguments>(arguments)...), core_(core) {}

  bool await_ready() noexcept {
    core_.start(*this);
    return this->finished();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    this->suspend(self, false);  // not interruptible: buffers belong to the operation until it has finished
  }
  void await_resume() const {
    if (this->failed()) [[unlikely]]
      core_.throw_failure(*this);
  }

 protected:
  RankCore& core_;
};

/// put, get: done when it returns; a put is then visible at the target, a get's data is in the local buffer.
using Transfer = Awaited<Operation>;

/// An atomic; gives the old value.
template <class T>
class [[nodiscard]] Atomic final : public Awaited<Operation> {
 public:
  static_assert(detail::is_atomic_word<T>,
                "atomics are for types of 4 or 8 bytes without padding that are no pointers");
  using Awaited::Awaited;
  T await_resume() const {
    Awaited::await_resume();
    return detail::value_of_bits<T>(result);
  }
};

/// A put that carries its own copy of one value.
template <class T>
class [[nodiscard]] ValuePut final : public Awaited<Operation> {
 public:
  static_assert(detail::check_travels_as_bytes<T>());
  ValuePut(RankCore& core, const T& value, Remote<T> target) noexcept
      : Awaited(core, Verb::put, "put", target.rank()), value_(value) {
    bytes = sizeof(T);
    remote = target.address();
  }
  bool await_ready() noexcept {
    local = &value_;  // only now does it lie where it will stay
    return Awaited::await_ready();
  }

 private:
  T value_;
};

/// A get of one value.
template <class T>
class [[nodiscard]] ValueGet final : public Awaited<Operation> {
 public:
  static_assert(detail::check_travels_as_bytes<T>());
  ValueGet(RankCore& core, Remote<T> source) noexcept : Awaited(core, Verb::get, "get", source.rank()) {
    bytes = sizeof(T);
    remote = source.address();
  }
  bool await_ready() noexcept {
    local = &value_;  // as in ValuePut
    return Awaited::await_ready();
  }
  T await_resume() const {
    Awaited::await_resume();
    return value_;
  }

 private:
  T value_;
};

/// An active message; done when its payload may be reused.
using Request = Awaited<RequestOperation>;

/// Waits until a signal of this rank has reached a value.
class [[nodiscard]] SignalWait : public Waiter {
 public:
  SignalWait(RankCore& core, Signal& signal, std::uint64_t at_least) noexcept
      : SignalWait(core, signal, at_least, -1) {}

  bool await_ready() const noexcept { return reached(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    core_.signal_waits().add(*this);
    return true;
  }
  /// The value found; at least what was asked for.
  std::uint64_t await_resume() const {
    throw_if_failed();
    return signal_.value();
  }

 protected:
  SignalWait(RankCore& core, Signal& signal, std::uint64_t at_least, int peer) noexcept
      : Waiter("signal", peer), core_(core), signal_(signal), at_least_(at_least) {}

  bool reached() const noexcept { return signal_.value() >= at_least_; }
  /// Ends the wait early.
  void give_up() noexcept { core_.signal_waits().remove(*this); }
  RankCore& core() const noexcept { return core_; }

 private:
  friend SignalWaits;
  void cancel(std::error_code reason) noexcept override {
    give_up();
    complete(reason);
  }

  RankCore& core_;
  Signal& signal_;
  std::uint64_t at_least_;
};

/// Waits for a signal that a certain peer, or the members of a team, will raise: throws Error (peer_lost) when it, or
/// one of them, is lost before.
class [[nodiscard]] GuardedSignalWait final : public SignalWait, private LossWatch {
 public:
  GuardedSignalWait(RankCore& core, Signal& signal, std::uint64_t at_least, std::uint32_t from) noexcept
      : SignalWait(core, signal, at_least, static_cast<int>(from)), watches_(core.peers().watches()), from_(from) {}
  /// For collectives: `watches` of the team. The caller has looked whether the team is whole.
  GuardedSignalWait(RankCore& core, Signal& signal, std::uint64_t at_least, LossWatches& watches) noexcept
      : SignalWait(core, signal, at_least, -1), watches_(watches), from_(kTeam) {}

  bool await_ready() const noexcept { return reached() || core().peers().lost(from_); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!SignalWait::await_suspend(self)) return false;
    watches_.add(*this);
    return true;
  }
  std::uint64_t await_resume() {
    leave();
    if (!failed() && !reached()) core().throw_lost(what(), from_);
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

  LossWatches& watches_;
  std::uint32_t from_;  // who is lost, once one is
};

}  // namespace coracle::internals
