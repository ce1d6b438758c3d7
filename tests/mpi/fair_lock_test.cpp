// FairLock: nobody is in with another, and who gives it away and wants it again comes last.
#include "interfaces/mpi/core/fair_lock.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace coracle::mpi {
namespace {

TEST_CASE("fair lock: one at a time, and all get it") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20000;
  FairLock lock;
  int count = 0;
  std::atomic<int> inside{0};
  std::atomic<bool> alone{true};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        lock.take();
        if (inside.fetch_add(1) != 0) alone = false;
        ++count;
        inside.fetch_sub(1);
        lock.give();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(alone);
  CHECK(count == kThreads * kRounds);
  CHECK(!lock.is_wanted());
}

TEST_CASE("fair lock: who waits for it gets it before the one that gives it") {
  FairLock lock;
  bool was_in = false;
  lock.take();
  std::thread other([&] {
    lock.take();
    was_in = true;
    lock.give();
  });
  while (!lock.is_wanted()) std::this_thread::yield();
  lock.give();
  lock.take();
  CHECK(was_in);
  lock.give();
  other.join();
}

}  // namespace
}  // namespace coracle::mpi
