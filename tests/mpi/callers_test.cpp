// Callers: another thread comes while the own one is anywhere.
#include "interfaces/mpi/core/callers.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "interfaces/mpi/core/call_lock.hpp"
#include "interfaces/mpi/core/progress.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace coracle::mpi {
namespace {

/// While a function of this thread runs, as entry points do.
class Call {
 public:
  explicit Call(Progress& progress) : others_(Callers::begin_own()) {
    if (others_ == Callers::kElsewhere) may_ = Callers::enter(progress, others_, lock_);
  }
  ~Call() {
    CallLock* const lock = others_ != Callers::kElsewhere ? Callers::end_own(others_) : lock_;
    if (lock != nullptr) lock->leave();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  bool may() const noexcept { return may_; }

 private:
  std::uint32_t others_;
  CallLock* lock_ = nullptr;
  bool may_ = true;
};

/// What functions change; only one thread may at a time.
struct Changed {
  int first = 0;
  int second = 0;

  bool change() {
    const bool whole = first == second;
    ++first;
    std::this_thread::yield();
    ++second;
    return whole;
  }
};

/// The own thread calls, waits or does nothing, as chance has it, while two others come; 0: all went well. A process
/// of its own, since once a thread has been let in it stays so.
int trial(unsigned seed) {
  std::minstd_rand random(seed);
  internals::EventLoop loop;
  loop.set_idle_policy({.spins = 10, .yields = 2, .lingers = 0});
  Progress progress(loop);
  // The kernel takes milliseconds for the first one of a process, in which nobody would be met in a call.
  const internals::FenceOfAll fence(internals::Placement::thread);
  Callers::begin_alone();
  Callers::end_own(0);
  Changed changed;
  bool is_whole = true;
  int others_calls = 0;
  constexpr int kOthers = 2;
  constexpr int kCalls = 50;
  std::vector<std::thread> others;
  others.reserve(kOthers);
  for (int i = 0; i < kOthers; ++i)
    others.emplace_back([&, delay = std::chrono::microseconds(random() % 400)] {
      std::this_thread::sleep_for(delay);
      for (int call = 0; call < kCalls; ++call) {
        const Call here(progress);
        is_whole = here.may() && changed.change() && is_whole;
        ++others_calls;
      }
    });
  const unsigned how = random() % 4;
  constexpr int kMost = 1'000'000;  // where the others don't get a processor
  for (int i = 0; how != 0 && i < kMost && Callers::lock() == nullptr; ++i) {
    const Call here(progress);
    is_whole = changed.change() && is_whole;
    // A function that it calls may find that the thread's name has gone meanwhile.
    if (how == 3) {
      const Call nested(progress);
      is_whole = nested.may() && changed.change() && is_whole;
    }
  }
  if (how == 2) {
    const Call here(progress);
    progress.run_until<PlainNote>([&] { return others_calls == kOthers * kCalls; }, ", until others have called");
    is_whole = changed.change() && is_whole;
  }
  for (std::thread& each : others) each.join();
  const Call here(progress);
  return is_whole && others_calls == kOthers * kCalls && changed.first == changed.second && Callers::lock() != nullptr
             ? 0
             : 1;
}

}  // namespace

TEST_CASE("callers: another thread is let in, wherever the own one is") {
  constexpr unsigned kTrials = 100;
  for (unsigned seed = 1; seed <= kTrials; ++seed) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(trial(seed));
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CAPTURE(seed);
    REQUIRE(status == 0);
  }
}

TEST_CASE("callers: a world that is used in other ways lets nobody in") {
  const pid_t child = ::fork();
  if (child == 0) {
    internals::EventLoop loop;
    Progress progress(loop);
    Callers::begin_alone();
    Callers::end_own(0);
    Callers::stay_alone();
    bool may = true;
    std::thread([&] { may = Call(progress).may(); }).join();
    const Call here(progress);
    ::_exit(!may && here.may() && Callers::lock() == nullptr ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

}  // namespace coracle::mpi
