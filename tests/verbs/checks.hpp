// What the checks of the verbs transport share: a transport made by hand between two ranks of one node, and operations
// that go through it though the peer's memory could be reached without.
#pragma once

#include <coracle/coracle.hpp>

#include "tests/conformance/suite.hpp"
#include "transports/verbs/support.hpp"
#include "transports/verbs/verbs_transport.hpp"

namespace coracle::internals::verbs_checks {

/// An operation that is awaited, started by the transport itself; gives its outcome.
template <class Base = Operation>
class [[nodiscard]] Through final : public Base {
 public:
  template <class... Arguments>
  explicit Through(Transport& transport, Arguments&&... arguments) noexcept
      : Base(std::forward<Arguments>(arguments)...), transport_(transport) {}
  bool await_ready() noexcept {
    transport_.submit(*this);
    return this->finished();
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    this->suspend(self, false);
  }
  std::error_code await_resume() const { return this->failed() ? this->outcome() : std::error_code(); }

 private:
  Transport& transport_;
};

/// The transport of one rank: not the rank's own, so that it can end in the middle.
class Owned {
 public:
  explicit Owned(Rank& rank)
      : loop_(rank.loop()), transport_(verbs::make_transport(rank, rank.core().transport(), true)) {
    loop_.add_poller(*transport_);
  }
  ~Owned() { end(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  /// As when the process dies: without a word.
  void end() noexcept {
    if (transport_) loop_.remove_poller(*transport_);
    transport_.reset();
  }
  verbs::VerbsTransport& transport() const noexcept { return static_cast<verbs::VerbsTransport&>(*transport_); }

 private:
  EventLoop& loop_;
  std::unique_ptr<Transport> transport_;
};

/// One rank's view: its transport, and the peer.
struct Pair {
  Rank& self;
  verbs::VerbsTransport& transport;
  std::uint32_t peer;
  Owned& owned;

  Through<> put(std::span<const std::byte> source, RemoteAddress target) {
    Through<> operation(transport, Operation::Verb::put, "put", target.rank);
    operation.local = const_cast<std::byte*>(source.data());
    operation.bytes = source.size();
    operation.remote = target;
    return operation;
  }
  Through<> put_signal(std::span<const std::byte> source, RemoteAddress target, RemoteAddress signal,
                       std::uint64_t add = 1) {
    Through<> operation = put(source, target);
    operation.signal = signal;
    operation.signal_add = add;
    return operation;
  }
  Through<> get(RemoteAddress source, std::span<std::byte> target) {
    Through<> operation(transport, Operation::Verb::get, "get", source.rank);
    operation.local = target.data();
    operation.bytes = target.size();
    operation.remote = source;
    return operation;
  }
  Through<> atomic(Operation::Verb verb, RemoteAddress place, std::uint8_t width, std::uint64_t operand,
                   std::uint64_t compare = 0) {
    Through<> operation(transport, verb, "atomic", place.rank);
    operation.remote = place;
    operation.width = width;
    operation.bytes = width;
    operation.operand = operand;
    operation.compare = compare;
    return operation;
  }
  Through<RequestOperation> request(Handler handler, std::span<const std::byte> payload, std::uint64_t argument) {
    Through<RequestOperation> operation(transport, peer);
    operation.header.handler = HandlerId::of(handler);
    operation.header.argument_count = 1;
    operation.header.arguments[0] = argument;
    operation.local = const_cast<std::byte*>(payload.data());
    operation.bytes = payload.size();
    return operation;
  }
};

Task<> transfers(Pair pair);
Task<> signals(Pair pair);
Task<> atomics(Pair pair);
Task<> device_atomics(Pair pair);
Task<> messages(Pair pair);
Task<> memory(Pair pair);
Task<> sleeping(Pair pair);
Task<> bad_key(Pair pair);
Task<> death(Pair pair);

}  // namespace coracle::internals::verbs_checks
