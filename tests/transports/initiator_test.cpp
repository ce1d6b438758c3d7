// The end of a connection that asks, before there is a connection and when it takes leave.
#include "transports/tcp/initiator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "tests/transports/tcp_fake.hpp"

namespace initiator_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::tcp;

namespace {

struct Outcome final : OperationOwner {
  void finished(Operation&) noexcept override { ++count; }
  int count = 0;
};

/// All that it has to say goes to `to`.
void deliver(tcp::ConnectionEnd& from, tcp::ConnectionEnd& to) {
  std::array<iovec, 4> vectors;
  for (auto gathered = from.outbox().gather(vectors, 1 << 20); gathered.bytes > 0;
       gathered = from.outbox().gather(vectors, 1 << 20)) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < gathered.count; ++i) {
      const auto* begin = static_cast<const std::byte*>(vectors[i].iov_base);
      bytes.insert(bytes.end(), begin, begin + vectors[i].iov_len);
    }
    from.outbox().sent(gathered.bytes);
    from.outbox().release(gathered.bytes);
    to.received(bytes);
    from.drained();
  }
}

}  // namespace

TEST_CASE("initiator: what is submitted before there is a connection can all be failed, messages too") {
  test::FakeRank rank(64);
  Initiator initiator(rank, rank, {rank.key, 0, 1});
  initiator.hold();
  Outcome outcome;
  std::array<std::byte, 8> buffer{};
  Operation put(Operation::Verb::put, "put", 1);
  RequestOperation message(1);
  for (Operation* operation : {&put, static_cast<Operation*>(&message)}) {
    operation->set_owner(&outcome);
    operation->local = buffer.data();
    operation->bytes = buffer.size();
    initiator.submit(*operation);
  }
  CHECK(outcome.count == 0);
  CHECK(initiator.in_flight() == 2);
  CHECK_FALSE(initiator.quiet());
  initiator.fail_all(std::make_error_code(std::errc::too_many_files_open));
  CHECK(outcome.count == 2);
  CHECK(put.outcome() == std::errc::too_many_files_open);
  CHECK(message.outcome() == std::errc::too_many_files_open);
  CHECK(initiator.in_flight() == 0);
}

namespace {

/// As a container may hold it.
struct HeldOperation final : Operation {
  using Operation::Operation;
};

}  // namespace

TEST_CASE("initiator: the goodbye comes after everything that was submitted before it") {
  constexpr std::size_t kPuts = 20'000;  // more than it turns into bytes at once
  for (const bool held : {false, true}) {
    CAPTURE(held);
    test::FakeRank rank(kPuts * sizeof(std::uint64_t));
    Initiator initiator(rank, rank, {rank.key, 0, 1});
    Responder responder(rank, rank, frame_check(rank.key));
    if (held) initiator.hold();
    Outcome outcome;
    std::vector<std::uint64_t> words(kPuts, 7);
    std::deque<HeldOperation> puts;
    for (std::size_t i = 0; i < kPuts; ++i) {
      Operation& put = puts.emplace_back(Operation::Verb::put, "put", 1);
      put.set_owner(&outcome);
      put.local = &words[i];
      put.bytes = sizeof(std::uint64_t);
      put.remote = {i * sizeof(std::uint64_t), 1, 0};
      initiator.submit(put);
    }
    initiator.leave();
    if (held) initiator.release();
    deliver(initiator, responder);
    CHECK(responder.peer_said_goodbye());
    CHECK_FALSE(responder.broken());
    deliver(responder, initiator);
    CHECK(outcome.count == kPuts);
    for (const Operation& put : puts) REQUIRE_FALSE(put.failed());
    CHECK(std::memcmp(rank.memory.data(), words.data(), rank.memory.size()) == 0);
  }
}

TEST_CASE("initiator: its output is over only with the goodbye, not when the kernel still holds all that was sent") {
  constexpr std::size_t kPuts = 20'000;  // more than it turns into bytes at once
  test::FakeRank rank(kPuts * sizeof(std::uint64_t));
  Initiator initiator(rank, rank, {rank.key, 0, 1});
  std::uint64_t word = 7;
  std::deque<HeldOperation> puts;
  for (std::size_t i = 0; i < kPuts; ++i) {
    Operation& put = puts.emplace_back(Operation::Verb::put, "put", 1);
    put.local = &word;
    put.bytes = sizeof word;
    put.remote = {i * sizeof word, 1, 0};
    initiator.submit(put);
  }
  initiator.leave();
  const auto take_all = [&initiator] {
    std::array<iovec, 4> vectors;
    std::size_t taken = 0;
    while (!initiator.outbox().empty()) {
      const auto gathered = initiator.outbox().gather(vectors, 1 << 20);
      initiator.outbox().sent(gathered.bytes);
      taken += gathered.bytes;
    }
    return taken;
  };
  for (int rounds = 0; !initiator.output_over(); ++rounds) {
    REQUIRE(rounds < 100);
    const std::size_t taken = take_all();
    CHECK_FALSE(initiator.output_over());  // there is nothing to be sent, but puts that wait for room
    initiator.outbox().release(taken);
    initiator.drained();
  }
  CHECK_FALSE(initiator.outbox().empty());
  initiator.outbox().release(take_all());
  initiator.fail_all(Errc::peer_lost);
}

}  // namespace initiator_test
