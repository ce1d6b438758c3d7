// `coracle bench loop`: what tasks, operations and the loop cost on one rank.
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/frame_pool.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals::bench {
namespace {

/// The least that a coroutine can be: a frame from malloc and no knowledge of anything. The limit for Task.
struct PlainCoroutine {
  struct promise_type {
    static void* operator new(std::size_t bytes) {
      last_frame_bytes = bytes;
      if (void* memory = std::malloc(bytes)) return memory;
      throw std::bad_alloc();
    }
    static void operator delete(void* memory) noexcept { std::free(memory); }
    PlainCoroutine get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
    static inline thread_local std::size_t last_frame_bytes = 0;
  };
  std::coroutine_handle<promise_type> handle;
};

/// `co_await Queued{queue};` puts the coroutine into a plain array of handles.
struct Queued {
  std::vector<std::coroutine_handle<>>& queue;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) const { queue.push_back(self); }
  void await_resume() const noexcept {}
};

// Separate functions that are not inlined: what is measured is a call to a task somewhere else in a program.
[[gnu::noinline]] Task<> finish_at_once() {
  co_return;
}
[[gnu::noinline]] Task<std::uint64_t> give_value(std::uint64_t value) {
  co_return value;
}
[[gnu::noinline]] Task<> suspend_once() {
  co_await yield();
}
[[gnu::noinline]] PlainCoroutine finish_plainly() {
  co_return;
}
[[gnu::noinline]] PlainCoroutine suspend_plainly(std::vector<std::coroutine_handle<>>& queue) {
  co_await Queued{queue};
}
[[gnu::noinline]] void do_nothing() {
  fence_compiler();
}

void run_plain_coroutines(std::uint64_t count) {
  for (; count != 0; --count) {
    const PlainCoroutine coroutine = finish_plainly();
    coroutine.handle.resume();
    coroutine.handle.destroy();
  }
}

Task<> bench_tasks(Bench& bench) {
  Contest contest(bench.self, bench.plan);
  const auto task = contest.add(repeated(finish_at_once));
  const auto value = contest.add(repeated([] { return give_value(opaque(std::uint64_t{1})); }));
  const auto plain = contest.add_plain(run_plain_coroutines);
  const auto call = contest.add_plain(plainly([] { opaque (&do_nothing)(); }));
  co_await contest.run();
  const char* title = "Awaiting tasks";
  const char* limit_name = "coroutine with malloc, resumed, destroyed";
  bench.report.add(title, contest.row("await a ready task", task, limit_name, plain));
  bench.report.add(title, contest.row("await a ready task that gives a value", value, limit_name, plain));
  bench.report.add(title, contest.row(limit_name, plain, "an indirect call", call));
}

/// What an awaited put of 8 bytes does, without operation and coroutine: look the place up, check it, copy.
[[gnu::noinline]] bool put_plainly(const Rank& self, std::span<const std::uint64_t> source,
                                   Remote<std::uint64_t> target) {
  std::uint64_t* place = self.reach(target, source.size());
  if (place == nullptr) return false;
  std::memcpy(place, source.data(), source.size_bytes());
  return true;
}

Task<> bench_operation(Bench& bench) {
  Rank& self = bench.self;
  auto slab = self.allocate<std::uint64_t>(16);
  const std::span<const std::uint64_t> source(slab.data(), opaque(std::size_t{1}));
  const Remote<std::uint64_t> target = slab.remote() + 8;
  Contest contest(self, bench.plan);
  const auto awaited = contest.add(repeated([&] { return self.put(source, target); }));
  const auto bare = contest.add_plain(plainly([&] {
    const bool done = put_plainly(self, source, target);
    CORACLE_ASSERT(done, "a rank's own segment can't be reached");
  }));
  co_await contest.run();
  const char* title = "Awaiting operations that are ready";
  bench.report.add(title, contest.row("await a put of 8 bytes to the own segment", awaited,
                                      "the same checked copy by a plain call", bare, 8));
  bench.report.add(title, {"the same, above the plain call", "ns", contest.difference(awaited, bare), "", {}, 0, {}});
}

constexpr std::uint64_t kManyTasks = 64;

yield give_way() noexcept {
  return {};
}

Task<> spawn_yielding(Scope& scope, std::uint64_t count) {
  for (std::uint64_t i = 0; i < kManyTasks; ++i) scope.spawn(repeat(give_way, count / kManyTasks + 1));
  co_return;
}

struct EventPair {
  Event there;
  Event back;
};

Task<> answer_events(EventPair& events, std::uint64_t count) {
  for (; count != 0; --count) {
    co_await events.there;
    events.there.reset();
    events.back.set();
  }
}

Task<> exchange_events(Scope& scope, EventPair* events, std::uint64_t count) {
  scope.spawn(answer_events(*events, count));
  for (; count != 0; --count) {
    events->there.set();
    co_await events->back;
    events->back.reset();
  }
}

/// Coroutines that put themselves into one array of handles and are resumed out of another.
void resume_plainly(std::uint64_t count) {
  std::vector<std::coroutine_handle<>> ready;
  std::vector<std::coroutine_handle<>> next;
  std::vector<std::coroutine_handle<>> all;
  const auto body = [](std::vector<std::coroutine_handle<>>& queue) -> PlainCoroutine {
    for (;;) co_await Queued{queue};
  };
  for (std::uint64_t i = 0; i < kManyTasks; ++i) {
    all.push_back(body(next).handle);
    all.back().resume();
  }
  for (std::uint64_t done = 0; done < count; done += kManyTasks) {
    std::swap(ready, next);
    for (const auto& coroutine : ready) coroutine.resume();
    ready.clear();
  }
  for (const auto& coroutine : all) coroutine.destroy();
}

Task<> bench_suspend(Bench& bench) {
  EventPair pair;
  Comparison comparison(bench, "Suspending and resuming");
  comparison.add("yield, one of 64 coroutines", [](std::uint64_t count) { return with_scope(spawn_yielding, count); });
  comparison.add("yield, alone: a whole turn of the loop", repeated(give_way));
  comparison.add("there and back between two coroutines by events",
                 [&pair](std::uint64_t count) { return with_scope(exchange_events, &pair, count); });
  comparison.add_limit("coroutines queued in an array", resume_plainly);
  co_await comparison.run();
}

Task<> spawn_ready(Scope& scope, std::uint64_t count) {
  for (; count != 0; --count) scope.spawn(finish_at_once());
  co_return;
}

Task<> spawn_suspending(Scope& scope, std::uint64_t count) {
  for (; count != 0; --count) scope.spawn(suspend_once());
  co_return;
}

void spawn_plainly(std::uint64_t count) {
  std::vector<std::coroutine_handle<>> queue;
  std::vector<std::coroutine_handle<>> all;
  all.reserve(count);
  queue.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    all.push_back(suspend_plainly(queue).handle);
    all.back().resume();
  }
  for (const auto& coroutine : queue) coroutine.resume();
  for (const auto& coroutine : all) coroutine.destroy();
}

Task<> bench_spawning(Bench& bench) {
  const std::uint64_t count = bench.plan.quick ? 10'000 : 1'000'000;
  Plan plan = bench.plan;
  plan.batches = plan.quick ? 1 : 7;
  Contest contest(bench.self, plan);
  const auto ready = contest.add([](std::uint64_t tasks) { return with_scope(spawn_ready, tasks); });
  const auto late = contest.add([](std::uint64_t tasks) { return with_scope(spawn_suspending, tasks); });
  const auto plain = contest.add_plain(run_plain_coroutines);
  const auto plain_late = contest.add_plain(spawn_plainly);
  for (const auto contender : {ready, late, plain, plain_late}) contest.fix_count(contender, count);
  co_await contest.run();
  const std::string title =
      std::string("Spawning and joining ") + (bench.plan.quick ? "10,000" : "a million") + " tasks, each";
  bench.report.add(title,
                   contest.row("tasks that finish at once", ready, "coroutine with malloc, resumed, destroyed", plain));
  bench.report.add(title, contest.row("tasks that suspend once, all alive together", late,
                                      "coroutines with malloc, queued in an array", plain_late));
}

Task<> await_event(Event& event) {
  co_await event;
}

/// Comes first: later the pool has free frames, so that its growth tells nothing.
Task<> bench_memory(Bench& bench) {
  const std::uint64_t count = bench.plan.quick ? 10'000 : 100'000;
  PromiseBase& promise = co_await this_coroutine();
  double bytes = 0;
  {
    Event event;
    Scope scope(promise.loop(), &promise.scope());
    const std::size_t before = FramePool::reserved_bytes();
    for (std::uint64_t i = 0; i < count; ++i) scope.spawn(await_event(event));
    bytes = static_cast<double>(FramePool::reserved_bytes() - before) / static_cast<double>(count);
    event.set();
    co_await scope.join();
  }
  std::vector<std::coroutine_handle<>> queue;
  const PlainCoroutine plain = suspend_plainly(queue);
  constexpr double kMallocHeader = 8;
  const double plain_bytes = static_cast<double>(PlainCoroutine::promise_type::last_frame_bytes) + kMallocHeader;
  plain.handle.destroy();
  bench.report.add("Memory", {.name = "a suspended task that awaits an event",
                              .unit = "B",
                              .value = exactly(bytes),
                              .limit_name = "frame of a plain coroutine",
                              .limit = exactly(plain_bytes)});
}

Task<> bench_loop(Bench& bench) {
  co_await bench_memory(bench);
  co_await bench_tasks(bench);
  co_await bench_operation(bench);
  co_await bench_suspend(bench);
  co_await bench_spawning(bench);
}

}  // namespace

std::unique_ptr<Benchmark> loop_benchmark() {
  return benchmark_of({.name = "loop", .help = "tasks, operations and the event loop", .ranks = {1}}, bench_loop);
}

}  // namespace coracle::internals::bench
