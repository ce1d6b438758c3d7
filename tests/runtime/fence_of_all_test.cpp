// FenceOfAll takes the place of the raiser's fence in Flag: one of raiser and sleeper sees the other.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "runtime/job/flag.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace fence_of_all_test {

namespace {

/// Both sides of a round begin together.
class Starts {
 public:
  void meet(std::uint64_t round) {
    arrived_.fetch_add(1);
    while (arrived_.load() < 2 * round) {
      if (++looks_ % 1024 == 0) std::this_thread::yield();
    }
  }

 private:
  std::atomic<std::uint64_t> arrived_{0};
  static thread_local std::uint64_t looks_;
};

thread_local std::uint64_t Starts::looks_ = 0;

}  // namespace

TEST_CASE("Flag: of one who raises it lightly and one who goes to sleep, one sees the other") {
  const coracle::internals::FenceOfAll fence(coracle::internals::Placement::thread);
  if (!fence.works()) {
    MESSAGE("SKIP: the kernel has no membarrier");
    return;
  }
  constexpr std::uint64_t kRounds = 20'000;
  coracle::internals::Flag flag;
  Starts begin;
  Starts end;
  std::uint64_t woken = 0;
  std::thread raiser([&] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      begin.meet(round);
      woken = flag.raise_lightly(round);
      end.meet(round);
    }
  });
  std::uint64_t missed = 0;
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    flag.sleepers.store(0);
    begin.meet(round);
    flag.sleepers.fetch_or(1);
    fence.pass();
    const bool seen = flag.reached(round);
    end.meet(round);
    if (!seen && woken == 0) ++missed;
  }
  raiser.join();
  CHECK(missed == 0);
}

}  // namespace fence_of_all_test
