// CallLock: threads that wait for each other, for the loop, and for what another one has the loop do.
#include "interfaces/mpi/core/call_lock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/task.hpp"

namespace coracle::mpi {
namespace {

using internals::EventLoop;
using internals::Task;

/// A loop whose threads hold the lock.
struct Shared {
  Shared() {
    loop.set_idle_policy({.spins = 10, .yields = 2, .lingers = 0});
    loop.share(lock);
    lock.enter();
    lock.begin(loop, noted);
    lock.leave();
  }
  ~Shared() {
    lock.enter();
    lock.end();
    lock.leave();
  }
  template <class Predicate>
  void wait(Predicate done) {
    const CallLockScope scope(&lock);
    lock.wait_until(done);
  }

  CallLock lock;  // outlives the loop
  EventLoop loop;
  const CallNote* noted = nullptr;
};

void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

Task<> set_later(bool& flag, std::chrono::milliseconds after) {
  co_await internals::sleep_for(after);
  flag = true;
}

}  // namespace

TEST_CASE("call lock: threads that wait for each other go in turns") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  Shared shared;
  int turn = 0;
  in_threads(kThreads, [&](int self) {
    for (int round = 0; round < kRounds; ++round) {
      const CallLockScope scope(&shared.lock);
      auto done = [&] { return turn % kThreads == self; };
      shared.lock.wait_until(done);
      CHECK(turn % kThreads == self);
      ++turn;
    }
  });
  CHECK(turn == kThreads * kRounds);
}

TEST_CASE("call lock: a thread that sleeps in the loop lets others in, and is woken by what they do") {
  constexpr int kCalls = 200;
  Shared shared;
  bool is_awaited = false;
  bool flag = false;
  int calls = 0;
  std::thread sleeper([&] {
    shared.wait([&] {
      is_awaited = true;
      return flag;
    });
    CHECK(calls == kCalls);
  });
  for (bool started = false; !started;) {
    const CallLockScope scope(&shared.lock);
    started = is_awaited && shared.loop.sleep_count() > 0;
  }
  for (int i = 0; i < kCalls; ++i) {
    const CallLockScope scope(&shared.lock);
    ++calls;
  }
  {
    // A task of the loop, which the sleeper turns.
    const CallLockScope scope(&shared.lock);
    shared.loop.root_scope().spawn(set_later(flag, std::chrono::milliseconds(5)));
  }
  sleeper.join();
  CHECK(flag);
}

TEST_CASE("call lock: a thread that fails while it turns the loop leaves that to one that waits") {
  Shared shared;
  bool is_set = false;
  bool is_wanted = false;
  std::thread other;
  CHECK_THROWS_AS(shared.wait([&] {
    if (!other.joinable()) {
      other = std::thread([&] { shared.wait([&] { return std::exchange(is_wanted, true) && is_set; }); });
    }
    if (is_wanted) throw std::runtime_error("what it waits for has failed");
    return false;
  }),
                  std::runtime_error);
  shared.lock.enter();
  shared.loop.root_scope().spawn(set_later(is_set, std::chrono::milliseconds(5)));
  shared.lock.leave();
  other.join();
  CHECK(is_set);
}

TEST_CASE("call lock: each of many threads gets what it has the loop do") {
  constexpr int kThreads = 6;
  constexpr int kRounds = 50;
  Shared shared;
  in_threads(kThreads, [&](int self) {
    for (int round = 0; round < kRounds; ++round) {
      bool flag = false;
      const CallLockScope scope(&shared.lock);
      shared.loop.root_scope().spawn(set_later(flag, std::chrono::milliseconds((self + round) % 3)));
      auto done = [&flag] { return flag; };
      shared.lock.wait_until(done);
      CHECK(flag);
    }
  });
}

}  // namespace coracle::mpi
