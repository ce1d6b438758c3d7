// Io: cancellation, allocations, and rings of the doorbell while a loop sleeps on I/O; one suite over both back ends.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/allocations.hpp"
#include "tests/runtime/io_fixture.hpp"
#include "tests/runtime/loop_of.hpp"

namespace io_wakeup_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace std::chrono_literals;

namespace {

Task<> cancel_soon(Scope& scope) {
  for (int i = 0; i < 5; ++i) co_await yield();
  scope.cancel(std::make_error_code(std::errc::connection_aborted));
}
Task<> read_under_cancel(Scope& scope, Io& io, int fd, Bytes& buffer, Failure& read, Failure& wait) {
  std::size_t count = 0;
  int woken = 0;
  scope.spawn(catching(one_read(io, fd, buffer, kNoOffset, count), read.code, read.text));
  scope.spawn(catching(until_readable(io, fd, woken), wait.code, wait.text));
  co_await cancel_soon(scope);
}

template <class BackEnd>
void cancel_on_pipe(int flags) {
  LoopWith<BackEnd> with;
  const Pipe pipe(flags);
  Bytes buffer(16);
  Failure read, wait;
  with.loop.run(with_scope(read_under_cancel, std::ref(with.io()), static_cast<int>(pipe.out), std::ref(buffer),
                           std::ref(read), std::ref(wait)));
  CHECK(read.code == std::errc::connection_aborted);
  CHECK(wait.code == std::errc::connection_aborted);
  CHECK(with.io().in_flight() == 0);

  std::size_t count = 0;
  const Failure late =
      failure_of(with.loop, with_timeout(2ms, one_read(with.io(), pipe.out, buffer, kNoOffset, count)));
  CHECK(late.code == std::errc::timed_out);
  CHECK(with.io().in_flight() == 0);

  // Neither of them took what comes later, and the descriptor is as good as new.
  REQUIRE(::write(pipe.in, "x", 1) == 1);
  with.loop.run(one_read(with.io(), pipe.out, buffer, kNoOffset, count));
  CHECK(count == 1);
  CHECK(buffer[0] == 'x');
}

Task<> hammer(Scope& scope, Io& io, int pipe, int file, std::vector<Bytes>& buffers, std::vector<Failure>& failures) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto read = i % 2 == 0 ? read_all(io, pipe, buffers[i], kNoOffset) : read_all(io, file, buffers[i], 0);
    scope.spawn(catching(std::move(read), failures[i].code, failures[i].text));
  }
  scope.cancel();
  co_return;
}

}  // namespace

TEST_CASE_TEMPLATE("io: reads of an empty pipe end by cancel and by time limit, with its reason", BackEnd, Uring,
                   Epoll) {
  if (!can_run<BackEnd>()) return;
  SUBCASE("blocking") {
    cancel_on_pipe<BackEnd>(0);
  }
  SUBCASE("O_NONBLOCK") {
    cancel_on_pipe<BackEnd>(O_NONBLOCK);
  }
}

TEST_CASE_TEMPLATE("io: more requests than the ring holds are cancelled before they began", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Pipe pipe;
  const Fd file = temporary_file();
  with.loop.run(write_all(with.io(), file, Bytes(8, 3), 0));
  for (int round = 0; round < 5; ++round) {
    std::vector<Bytes> buffers(1500, Bytes(8));
    std::vector<Failure> failures(buffers.size());
    with.loop.run(with_scope(hammer, std::ref(with.io()), static_cast<int>(pipe.out), static_cast<int>(file),
                             std::ref(buffers), std::ref(failures)));
    CHECK(with.io().in_flight() == 0);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      // One of a file may have been done already.
      const bool cancelled = failures[i].code == std::errc::operation_canceled;
      REQUIRE((cancelled || (i % 2 == 1 && !failures[i].code && buffers[i] == Bytes(8, 3))));
    }
  }
}

namespace {

Task<> rounds_on_file(Io& io, int fd, std::array<unsigned char, 512>& block, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    co_await io.write(fd, block.data(), block.size(), 512);
    co_await io.read(fd, block.data(), block.size(), 512);
  }
}
Task<> rounds_on_pipe(Io& io, const Pipe& pipe, int rounds) {
  unsigned char byte = 0;
  for (int i = 0; i < rounds; ++i) {
    co_await io.wait_writable(pipe.in);
    co_await io.write(pipe.in, &byte, 1, kNoOffset);
    co_await io.wait_readable(pipe.out);
    co_await io.read(pipe.out, &byte, 1, kNoOffset);
  }
}
/// `made`: by the last round. The first makes tables and frames; later ones at most the rest of four threads, when
/// these are told late that they are wanted.
Task<> count_allocations(Io& io, const Pipe& pipe, int file, std::uint64_t& made) {
  constexpr int kRoundsMax = 6;
  std::array<unsigned char, 512> block{};
  for (int round = 0; round < kRoundsMax && (round < 2 || made > 0); ++round) {
    const std::uint64_t before = allocation_count();
    co_await rounds_on_file(io, file, block, 200);
    co_await rounds_on_pipe(io, pipe, 200);
    made = allocation_count() - before;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("io: requests allocate nothing once the first have run", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  if (!allocations_are_counted()) {
    MESSAGE("skipped: sanitizers bring their own operator new");
    return;
  }
  LoopWith<BackEnd> with;
  const Pipe pipe;
  const Fd file = temporary_file();
  std::uint64_t made = 99;
  with.loop.run(count_allocations(with.io(), pipe, file, made));
  CHECK(made == 0);
}

namespace {

/// Counts what another thread has announced; the loop hears of it by its doorbell alone.
struct Mailbox final : Poller {
  bool poll() noexcept override {
    // seq_cst: pairs with the other thread's store (see Doorbell).
    const int now = announced.load(std::memory_order_seq_cst);
    if (now == seen) return false;
    seen = now;
    event.set();
    return true;
  }
  std::atomic<int> announced{0};
  int seen = 0;
  Event event;
};

Task<> follow(Mailbox& mailbox, std::atomic<int>& acknowledged, int rounds) {
  while (mailbox.seen < rounds) {
    co_await mailbox.event;
    mailbox.event.reset();
    acknowledged.store(mailbox.seen, std::memory_order_release);  // pairs with the other thread's acquire
  }
}
Task<> follow_beside_read(Scope& scope, Task<> reader, Mailbox& mailbox, std::atomic<int>& acknowledged, int rounds) {
  scope.spawn(std::move(reader));
  co_await follow(mailbox, acknowledged, rounds);
  scope.cancel();
}

/// Rings at the worst moment: after the loop has announced its sleep, between the other pollers' last look and the
/// sleep.
struct LateRinger final : Poller {
  LateRinger(Doorbell& bell, Mailbox& box, int rounds) : doorbell(bell), mailbox(box), left(rounds) {}
  bool poll() noexcept override {
    if (left == 0 || doorbell.state.load() != Doorbell::kOnEventFd) return false;
    --left;
    mailbox.announced.fetch_add(1, std::memory_order_seq_cst);  // pairs with Mailbox::poll
    doorbell.ring();
    return false;
  }
  Doorbell& doorbell;
  Mailbox& mailbox;
  int left;
};

Task<> ring_once_then_idle(EventLoop& loop, std::uint64_t& sleeps) {
  loop.doorbell().state.store(Doorbell::kOnEventFd);
  loop.doorbell().ring();
  const std::uint64_t before = loop.sleep_count();
  co_await sleep_for(30ms);
  sleeps = loop.sleep_count() - before;
}
Task<> idle_beside_read(Scope& scope, Task<> reader, std::uint64_t& sleeps) {
  scope.spawn(std::move(reader));
  co_await ring_once_then_idle(test::loop_of(scope), sleeps);
  scope.cancel();
}

}  // namespace

TEST_CASE_TEMPLATE("io: a ring between the announcement and the sleep is not lost", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  constexpr int kRounds = 1000;
  LoopWith<BackEnd> with;
  Mailbox mailbox;
  LateRinger ringer(with.loop.doorbell(), mailbox, kRounds);
  bool io_is_last = false;
  SUBCASE("the back end looks before the ring") {}
  SUBCASE("the back end looks after the ring") {
    io_is_last = true;
  }
  if (io_is_last) with.loop.remove_poller(with.io());
  with.loop.add_poller(mailbox);
  with.loop.add_poller(ringer);
  if (io_is_last) with.loop.add_poller(with.io());
  const Pipe pipe;
  std::atomic<int> acknowledged{0};
  Bytes buffer(1);
  Failure read;
  with.loop.run(with_scope(follow_beside_read,
                           catching(read_all(with.io(), pipe.out, buffer, kNoOffset), read.code, read.text),
                           std::ref(mailbox), std::ref(acknowledged), kRounds));
  with.loop.remove_poller(mailbox);
  with.loop.remove_poller(ringer);
  CHECK(acknowledged == kRounds);
}

TEST_CASE_TEMPLATE("io: a ring wakes a loop once, and then it sleeps again", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  LoopWith<BackEnd> with;
  const Pipe pipe;
  Bytes buffer(1);
  Failure read;
  std::uint64_t sleeps = 0;
  with.loop.run(with_scope(idle_beside_read,
                           catching(read_all(with.io(), pipe.out, buffer, kNoOffset), read.code, read.text),
                           std::ref(sleeps)));
  CHECK(sleeps > 0);
  CHECK(sleeps < 100);  // a descriptor left readable would make it some ten thousand
}

TEST_CASE_TEMPLATE("io: a ring from another thread always wakes a loop that sleeps on I/O", BackEnd, Uring, Epoll) {
  if (!can_run<BackEnd>()) return;
  constexpr int kRounds = 10000;
  LoopWith<BackEnd> with;
  Mailbox mailbox;
  with.loop.add_poller(mailbox);
  with.loop.set_idle_policy({.spins = 0, .yields = 0});
  const Pipe pipe;
  std::atomic<int> acknowledged{0};
  std::thread other([&] {
    std::mt19937 random(1);
    for (int round = 1; round <= kRounds; ++round) {
      // Every other round waits for the announcement, and then meets the loop asleep or on its way there.
      while (round % 2 == 0 && with.loop.doorbell().state.load() != Doorbell::kOnEventFd) std::this_thread::yield();
      for (auto pause = random() % 4096; pause > 0; --pause) std::atomic_signal_fence(std::memory_order_seq_cst);
      mailbox.announced.store(round, std::memory_order_seq_cst);  // pairs with Mailbox::poll
      with.loop.doorbell().ring();
      while (acknowledged.load(std::memory_order_acquire) != round) std::this_thread::yield();
    }
  });
  Bytes buffer(1);
  Failure read;
  with.loop.run(with_scope(follow_beside_read,
                           catching(read_all(with.io(), pipe.out, buffer, kNoOffset), read.code, read.text),
                           std::ref(mailbox), std::ref(acknowledged), kRounds));
  other.join();
  with.loop.remove_poller(mailbox);
  CHECK(mailbox.seen == kRounds);
  CHECK(read.code == std::errc::operation_canceled);
  CHECK(with.io().in_flight() == 0);
}

namespace {

/// Looks at a pipe of its own; nothing else tells it that something has come.
struct PipePoller final : Poller {
  explicit PipePoller(int pipe) : fd(pipe) {}
  bool poll() noexcept override {
    char byte;
    if (::read(fd, &byte, 1) != 1) return false;
    seen.fetch_add(1, std::memory_order_seq_cst);  // pairs with the writer's load
    arrived.set();
    return true;
  }
  int fd;
  std::atomic<int> seen{0};
  Event arrived;
};

Task<> follow_pipe(PipePoller& poller, int rounds) {
  while (poller.seen < rounds) {
    co_await poller.arrived;
    poller.arrived.reset();
  }
}

}  // namespace

TEST_CASE_TEMPLATE("io: a descriptor that a poller looks at wakes the loop until it is forgotten", BackEnd, Uring,
                   Epoll) {
  if (!can_run<BackEnd>()) return;
  constexpr int kRounds = 2000;
  LoopWith<BackEnd> with;
  const Pipe pipe(O_NONBLOCK);
  PipePoller poller(pipe.out);
  with.loop.add_poller(poller);
  with.loop.set_idle_policy({.spins = 0, .yields = 0});
  with.io().wake_on(pipe.out);
  CHECK(with.io().in_flight() == 1);
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (round % 2 == 0 && with.loop.doorbell().state.load() != Doorbell::kOnEventFd) std::this_thread::yield();
      if (::write(pipe.in, "x", 1) != 1) std::abort();
      while (poller.seen.load(std::memory_order_seq_cst) != round) std::this_thread::yield();
    }
  });
  with.loop.run(follow_pipe(poller, kRounds));
  other.join();
  CHECK(poller.seen == kRounds);
  CHECK(with.loop.sleep_count() > 0);

  with.io().forget(pipe.out);
  with.loop.remove_poller(poller);
  CHECK(with.io().in_flight() == 0);
  REQUIRE(::write(pipe.in, "x", 1) == 1);  // readable again, and nobody minds
  const auto before = with.loop.sleep_count();
  int woken = 0;
  const Pipe silent;
  const Failure late = failure_of(with.loop, with_timeout(20ms, until_readable(with.io(), silent.out, woken)));
  CHECK(late.code == std::errc::timed_out);
  CHECK(with.loop.sleep_count() - before < 100);
}

}  // namespace io_wakeup_test
