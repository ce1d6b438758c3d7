// A program of Coracle for the tests of what debuggers and crash reports tell of coroutines: `suspended WHAT`.
//   busy          rank 2 never returns from a coroutine; the others wait for messages that nobody sends, below two
//                 callers in a scope
//   nested        rank 1 aborts in a coroutine that was started by awaits that have not suspended
//   resumed       rank 1 aborts in a coroutine that the loop has resumed
//   spawned       rank 1 aborts in a coroutine that another has spawned and goes on behind
//   overflow      rank 1 overflows its stack below a coroutine
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

using namespace coracle;

namespace {

std::string what_to_do;

/// Keeps a variable alive in a frame.
[[gnu::noinline]] void use(const void* object) {
  asm volatile("" : : "r"(object) : "memory");
}

[[gnu::noinline]] std::uint64_t overflow(std::uint64_t depth) {
  volatile std::uint64_t room[16] = {depth};
  return room[0] == ~std::uint64_t{0} ? 0 : overflow(depth + 1) + room[1];  // never so deep
}

Task<> receive_block(Rank& self, int block) {
  std::vector<double> values(4, 0.5);
  const int twice = 2 * block;
  const std::uint32_t peer = (self.id() + 1) % self.size();
  co_await self.world().recv(values, peer, static_cast<std::uint64_t>(block));  // receive_block waits
  use(&twice);
}

Task<> solve(Rank& self, double tolerance) {
  const std::uint64_t steps = 100 + self.id();
  co_await receive_block(self, 21);  // solve waits
  use(&steps);
  use(&tolerance);
}

Task<> sleep_long(int hours) {
  co_await sleep_for(std::chrono::hours(hours));  // sleep_long waits
}

Task<> hang(Scope& scope, Rank& self) {
  scope.spawn(sleep_long(3));
  co_await solve(self, 0.125);  // hang waits
}

Task<> end(int depth) {
  int here = depth;
  use(&here);
  if (depth > 0) {
    co_await end(depth - 1);  // end awaits
  } else if (what_to_do == "overflow") {
    use(reinterpret_cast<const void*>(overflow(0)));
  } else {
    std::abort();
  }
  use(&here);
}

Task<> end_later() {
  co_await yield();
  co_await end(0);  // end_later awaits
}

Task<> ready_at_once(int value) {
  use(&value);
  co_return;
}

/// Leaves frames behind that have ended and that were never started.
Task<> end_among_others() {
  for (int i = 0; i < 3; ++i) co_await ready_at_once(i);
  Task<> unstarted = ready_at_once(7);
  use(&unstarted);
  co_await end(2);  // end_among_others awaits
}

Task<> spawn_end(Scope& scope) {
  scope.spawn(end(1));
  co_await sleep_long(1);
}

Task<> compute(int steps) {
  use(&steps);
  while (steps > 0) ::pause();
  co_return;
}

Task<> compute_later() {
  co_await sleep_for(std::chrono::milliseconds(10));  // in sim the others are to wait by then
  co_await compute(5);                                // compute_later awaits
}

Task<> app(Rank& self) {
  if (what_to_do == "busy") {
    if (self.id() == 2) co_await compute_later();  // app awaits busy
    co_await with_scope(hang, std::ref(self));     // app waits
  }
  if (self.id() == 1) {
    if (what_to_do == "nested" || what_to_do == "overflow") co_await end_among_others();  // app awaits nested
    if (what_to_do == "resumed") co_await end_later();                                    // app awaits resumed
    if (what_to_do == "spawned") co_await with_scope(spawn_end);                          // app awaits spawned
  }
  co_await self.world().barrier();
}

}  // namespace

int main(int argc, char** argv) {
  what_to_do = argc > 1 ? argv[1] : "busy";
  return run(argc, argv, app);
}
