// Progress: what is taken and given back around operations, and how often those are looked at that are waited for.
#include "interfaces/mpi/core/progress.hpp"

#include <doctest/doctest.h>

#include <coroutine>
#include <stdexcept>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/task.hpp"

namespace mpi_progress_test {

namespace {

using namespace coracle::internals;
using coracle::mpi::AwaitNote;
using coracle::mpi::Progress;

/// An operation that can't begin.
struct Refused {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("it can't begin"); }
  void await_resume() const noexcept {}
};

constexpr int kTurns = 50;

Task<> after_turns() {
  for (int i = 0; i < kTurns; ++i) co_await yield();
}

}  // namespace

TEST_CASE("mpi progress: an operation that can't begin keeps no completion") {
  EventLoop loop;
  Progress progress(loop);
  Refused refused;
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH(progress.wait<AwaitNote>(refused), "it can't begin");
    CHECK_THROWS_WITH(progress.begin(refused), "it can't begin");
    CHECK(progress.taken() == 0);
  }
  Task<> task = after_turns();
  progress.wait<AwaitNote>(task);
  CHECK(progress.taken() == 0);
  progress.end();
}

TEST_CASE("mpi progress: a predicate of ends is asked when something has ended, not at each turn") {
  EventLoop loop;
  Progress progress(loop);
  Task<> task = after_turns();
  REQUIRE_FALSE(task.await_ready());
  Completion& completion = progress.begin(task);
  int asked = 0;
  progress.run_until_end<AwaitNote>([&] {
    ++asked;
    return completion.done();
  });
  CHECK(asked == 2);
  progress.give_completion(completion);
  progress.run_until_end<AwaitNote>([&] {
    ++asked;
    return true;
  });
  CHECK(asked == 3);
  progress.end();
}

TEST_CASE("mpi progress: what is noted as an end is one") {
  EventLoop loop;
  Progress progress(loop);
  const auto end_it = [](Progress& of, bool& ended) -> Task<> {
    for (int i = 0; i < kTurns; ++i) co_await yield();
    ended = true;
    of.note_end();
  };
  bool ended = false;
  loop.root_scope().spawn(end_it(progress, ended));
  progress.run_until_end<AwaitNote>([&ended] { return ended; });
  CHECK(ended);
  progress.end();
}

}  // namespace mpi_progress_test
