// Channel: values that coroutines of one rank hand to each other, in order, with room for some that nobody has taken
// yet.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/wait_queue.hpp"

namespace coracle::internals {

/// A queue with any number of senders and receivers, and an end. Each value goes to one receiver; values arrive in the
/// order of the sends, and receivers are served in the order of their coming. Nothing to do with other ranks: for those
/// there are tagged messages and calls. Loop's thread only.
///
///     co_await channel.send(value);                                       // waits while it is full
///     while (auto value = co_await channel.receive()) use(*value);        // to its end: until it is closed and empty
///
/// A send or receive that throws (cancelled, or in a race that another has won) has sent or taken nothing.
template <class T>
class Channel {
 public:
  /// Room for `capacity` values, at least one. `what`: a literal that hang reports and errors say for a send and a
  /// receive.
  explicit Channel(std::size_t capacity, const char* what_send = "send to a channel",
                   const char* what_receive = "receive from a channel")
      : slots_(capacity), senders_(what_send), receivers_(what_receive) {
    CORACLE_ASSERT(capacity > 0, "a Channel needs room for at least one value");
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() = default;  // with waits it would be a mistake, which WaitQueue finds

  class Send;
  class Receive;
  /// Returns when the value has a place. Throws Error (std::errc::broken_pipe) when the channel is closed, before or
  /// meanwhile; then, as after a cancellation, the value is gone with the operation.
  Send send(T value) { return Send(*this, std::move(value)); }
  /// The next value; nothing when the channel is closed and all values have been taken.
  Receive receive() noexcept { return Receive(*this); }
  /// False, and `value` is as it was, when there is no room or others wait for it, or the channel is closed.
  [[nodiscard]] bool try_send(T& value) {
    if (closed_ || !may_send()) return false;
    push(std::move(value));
    wake();
    return true;
  }
  [[nodiscard]] bool try_send(T&& value) { return try_send(value); }
  /// Nothing when there is no value that nobody waits for.
  [[nodiscard]] std::optional<T> try_receive() {
    std::optional<T> value;
    if (count_ > 0 && may_receive()) value = pop();
    wake();
    return value;
  }

  /// No more values: sends fail, also those that wait; receivers get what is there, and then the end. May be repeated.
  void close() noexcept {
    closed_ = true;
    wake();
  }
  bool closed() const noexcept { return closed_; }
  /// Values that nobody has taken.
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  std::size_t capacity() const noexcept { return slots_.size(); }

 private:
  // One waiting sender and one receiver are granted at a time, and the next only when that one has run: so they go in
  // their order also where ready coroutines do not (`sim`), and a value or place stays where it is until it is surely
  // used.
  bool may_send() const noexcept { return senders_.empty() && !sender_runs_ && (closed_ || count_ < slots_.size()); }
  bool may_receive() const noexcept { return receivers_.empty() && !receiver_runs_ && (closed_ || count_ > 0); }
  void wake() noexcept {
    if (!senders_.empty() && !sender_runs_ && (closed_ || count_ < slots_.size())) {
      sender_runs_ = true;
      senders_.grant();
    }
    if (!receivers_.empty() && !receiver_runs_ && (closed_ || count_ > 0)) {
      receiver_runs_ = true;
      receivers_.grant();
    }
  }
  void push(T value) {
    slots_[(first_ + count_) % slots_.size()].emplace(std::move(value));
    ++count_;
  }
  std::optional<T> pop() {
    std::optional<T> value = std::exchange(slots_[first_], std::nullopt);
    first_ = (first_ + 1) % slots_.size();
    --count_;
    return value;
  }
  [[noreturn]] void throw_closed() const {
    throw Error::of_operation(std::make_error_code(std::errc::broken_pipe), senders_.what(), -1, -1,
                              "the channel has been closed");
  }

  std::vector<std::optional<T>> slots_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
  bool sender_runs_ = false;    // has been granted, and not run yet
  bool receiver_runs_ = false;  // the same
  WaitQueue senders_;
  WaitQueue receivers_;
};

template <class T>
class [[nodiscard]] Channel<T>::Send final : public QueuedWait {
 public:
  Send(Channel& channel, T value) : QueuedWait(channel.senders_), channel_(channel), value_(std::move(value)) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    return waited_ = begin(self.promise(), channel_.may_send());
  }
  void await_resume() {
    const bool kept = keeps();
    if (waited_ && granted()) channel_.sender_runs_ = false;
    const bool fits = kept && !channel_.closed_;
    if (fits) channel_.push(std::move(value_));
    channel_.wake();
    if (fits) return;
    throw_if_failed();
    channel_.throw_closed();
  }

 private:
  Channel& channel_;
  T value_;
  bool waited_ = false;
};

template <class T>
class [[nodiscard]] Channel<T>::Receive final : public QueuedWait {
 public:
  explicit Receive(Channel& channel) noexcept : QueuedWait(channel.receivers_), channel_(channel) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    return waited_ = begin(self.promise(), channel_.may_receive());
  }
  [[nodiscard]] std::optional<T> await_resume() {
    const bool kept = keeps();
    if (waited_ && granted()) channel_.receiver_runs_ = false;
    std::optional<T> value;
    if (kept && channel_.count_ > 0) value = channel_.pop();
    channel_.wake();
    if (!kept) throw_if_failed();
    return value;
  }

 private:
  Channel& channel_;
  bool waited_ = false;
};

}  // namespace coracle::internals
