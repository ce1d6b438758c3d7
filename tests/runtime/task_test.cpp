// Tasks: values, errors, and awaits in numbers that would break a naive implementation.
#include "runtime/core/task.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"

namespace task_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<int> ready_value(int value) {
  co_return value;
}

Task<> sum_of_ready(int count, long& sum) {
  for (int i = 0; i < count; ++i) sum += co_await ready_value(i);
}

Task<int> recurse(int depth) {
  if (depth == 0) co_return 0;
  const int below = co_await recurse(depth - 1);
  co_return below + 1;
}

Task<int> recurse_over_yield(int depth) {
  if (depth == 0) {
    co_await yield();
    co_return 0;
  }
  const int below = co_await recurse_over_yield(depth - 1);
  co_return below + 1;
}

Task<> store_into(Task<int> task, int& result) {
  result = co_await task;
}

Task<int> throws_at_once() {
  throw std::runtime_error("at once");
  co_return 0;
}

Task<int> throws_later() {
  co_await yield();
  throw std::runtime_error("later");
}

Task<> note_error(Task<int> task, std::string& text) {
  try {
    co_await task;
  } catch (const std::runtime_error& error) {
    text = error.what();
  }
}

Task<std::unique_ptr<int>> move_only() {
  co_return std::make_unique<int>(7);
}

Task<> await_move_only(int& result) {
  auto pointer = co_await move_only();
  result = *pointer;
}

Task<> yield_often(int count) {
  for (int i = 0; i < count; ++i) co_await yield();
}

struct Counted {
  explicit Counted(int& count) : live(count) { ++live; }
  Counted(const Counted& other) : live(other.live) { ++live; }
  ~Counted() { --live; }
  int& live;
};

Task<> keeps(Counted) {
  co_return;
}

/// Begins where all that it awaits is done.
Task<> begin_inside(int number, int nesting, std::vector<int>& began) {
  if (nesting == 0)
    began.push_back(number);
  else
    co_await begin_inside(number, nesting - 1, began);
}

Task<> begin_two(int number, std::vector<int>& began) {
  co_await begin_inside(number, 2, began);
  co_await begin_inside(number + 1, 1, began);
  co_await yield();
}

Task<> start_in_order(int depth, std::vector<int>& began) {
  if (depth > 0) {
    co_await start_in_order(depth - 1, began);
    co_return;
  }
  co_await when_all(begin_inside(1, 3, began), begin_two(2, began), begin_inside(4, 0, began), begin_two(5, began),
                    begin_inside(7, 4, began));
  co_await begin_inside(8, 1, began);
}

Task<> start_and_drop(int& live) {
  { Task<> never_awaited = keeps(Counted(live)); }
  co_await keeps(Counted(live));
}

}  // namespace

TEST_CASE("task: a million ready tasks awaited in a row don't overflow the stack") {
  EventLoop loop;
  long sum = 0;
  loop.run(sum_of_ready(1'000'000, sum));
  CHECK(sum == 499'999'500'000L);
}

TEST_CASE("task: recursion far deeper than the limit of nested starts") {
  EventLoop loop;
  int depth = 0;
  loop.run(store_into(recurse(100'000), depth));
  CHECK(depth == 100'000);
  loop.run(store_into(recurse_over_yield(100'000), depth));
  CHECK(depth == 100'000);
}

TEST_CASE("task: what is started together begins in that order, however deep it is") {
  EventLoop loop;
  // Frames are of a few hundred bytes: some depths are at the limit, some before it, some behind it.
  for (int depth = 200; depth < 6000; ++depth) {
    std::vector<int> began;
    loop.run(start_in_order(depth, began));
    REQUIRE(began == std::vector{1, 2, 3, 4, 5, 6, 7, 8});
  }
}

TEST_CASE("task: an error is rethrown at the await, thrown before or after a suspension") {
  EventLoop loop;
  std::string text;
  loop.run(note_error(throws_at_once(), text));
  CHECK(text == "at once");
  loop.run(note_error(throws_later(), text));
  CHECK(text == "later");
  int unused = 0;
  CHECK_THROWS_WITH(loop.run(store_into(throws_later(), unused)), "later");
}

TEST_CASE("task: values that can only be moved") {
  EventLoop loop;
  int result = 0;
  loop.run(await_move_only(result));
  CHECK(result == 7);
}

TEST_CASE("task: arguments die exactly once, also when the task is never awaited") {
  EventLoop loop;
  int live = 0;
  loop.run(start_and_drop(live));
  CHECK(live == 0);
}

TEST_CASE("task: yielding a million times") {
  EventLoop loop;
  loop.run(yield_often(1'000'000));
}

TEST_CASE("task: awaiting ready tasks takes no memory from the system once the pool is warm") {
  EventLoop loop;
  long sum = 0;
  loop.run(sum_of_ready(10, sum));
  EventLoop same_thread;  // keeps the pool from being trimmed between the two readings
  loop.run(sum_of_ready(10, sum));
  const std::size_t before = FramePool::reserved_bytes();
  loop.run(sum_of_ready(100'000, sum));
  CHECK(FramePool::reserved_bytes() == before);
}

TEST_CASE("task: a thread's frames go back to the system after its loops, also when some have outlived many of them") {
  void* const outliving = FramePool::allocate(100);
  for (int loop = 0; loop < 1000; ++loop) EventLoop().run(yield_often(1));
  FramePool::release(outliving, 100);
  for (int loop = 0; loop < 256; ++loop) EventLoop().run(yield_often(1));
  CHECK(FramePool::reserved_bytes() == 0);
}

TEST_CASE("task: one frame of every size takes a few pages for each class of sizes, whatever a class may need later") {
  constexpr std::size_t kSizes = 8192;
  const std::size_t before = FramePool::reserved_bytes();
  for (std::size_t bytes = 1; bytes <= kSizes; ++bytes) {
    auto* frame = static_cast<std::byte*>(FramePool::allocate(bytes));
    frame[0] = frame[bytes - 1] = std::byte{1};
    FramePool::release(frame, bytes);
  }
  CHECK(FramePool::reserved_bytes() - before <= 512 * 1024);
}

TEST_CASE("task: frames of all sizes that live at the same time do not overlap") {
  struct Piece {
    std::byte* at;
    std::size_t bytes;
  };
  std::vector<Piece> pieces;
  for (int round = 0; round < 3; ++round)
    for (std::size_t bytes = 1 + static_cast<std::size_t>(round); bytes <= 9000; bytes += 61) {
      pieces.push_back({static_cast<std::byte*>(FramePool::allocate(bytes)), bytes});
      std::memset(pieces.back().at, static_cast<int>(pieces.size() % 251), bytes);
    }
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < pieces[i].bytes; ++j)
      damaged += pieces[i].at[j] == static_cast<std::byte>((i + 1) % 251) ? 0U : 1U;
    FramePool::release(pieces[i].at, pieces[i].bytes);
  }
  CHECK(damaged == 0);
}

}  // namespace task_test
