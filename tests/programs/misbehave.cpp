// A program of Coracle that does what it should not, for the tests of the launcher: `misbehave WHAT [RANK]`. Rank RANK
// (0 unless given) does WHAT while the others wait for it in a barrier.
#include <signal.h>
#include <unistd.h>

#include <coracle/coracle.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using namespace coracle::internals;

namespace {

// Not inlined, so that backtraces show them.
[[gnu::noinline]] void write_to(volatile int* address) {
  *address = 1;
}

[[gnu::noinline]] void divide(int by) {
  volatile int divisor = by;
  volatile int dividend = 100;
  volatile int result = dividend / divisor;
  static_cast<void>(result);
}

void misbehave(const std::string& what) {
  if (what == "segv") write_to(nullptr);
  if (what == "divide") divide(0);
  if (what == "abort") std::abort();
  if (what == "assert") CORACLE_ASSERT(what.empty(), "this is {}", what);
  if (what == "throw") std::thread([] { throw std::runtime_error("thrown in a thread"); }).join();
  if (what == "error") throw std::runtime_error("thrown in a rank");
  if (what == "exit 7") std::_Exit(7);
  if (what == "exit 0") std::_Exit(0);
  if (what == "kill") ::raise(SIGKILL);
  volatile bool looping = what == "loop";
  while (looping) {
  }
}

Task<> fail_soon(int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  throw std::runtime_error("failed in the background");
}

/// Arguments that can't be meant; `what` names the collective.
Task<> misuse(Team& team, const std::string& what) {
  std::vector<double> values(4);
  const std::span all(values);
  const std::vector<std::size_t> around{0, ~std::size_t{0}, 2};  // 1 in all, if nobody looks
  const std::vector<std::size_t> two{0, 4};
  const std::vector<std::size_t> ones{1, 1, 1};
  if (what == "gather_all: size") co_await team.gather_all(all.first(1), all);
  if (what == "scatter: size") co_await team.scatter(all, all.first(1), team.index());
  if (what == "scatter: root") co_await team.scatter(all.first(3), all.first(1), 3);
  if (what == "all_to_all: size") co_await team.all_to_all(all.first(3), all);
  if (what == "reduce_scatter: size") co_await team.reduce_scatter(all, all.first(1), std::plus<>());
  if (what == "gather_all_v: counts") co_await team.gather_all_v(all.first(0), all, two);
  if (what == "gather_all_v: around") co_await team.gather_all_v(all.first(0), all.first(1), around);
  if (what == "gather_v: mine") co_await team.gather_v(all.first(2), all.first(3), ones, team.index());
}

void throw_told(Rank&, std::string text) {
  throw std::runtime_error(text);
}
Task<> throw_told_later(Rank&, std::string text) {
  co_await yield();
  throw std::runtime_error(text);
}

/// Has the next rank run what fails there, and makes sure that it has run.
Task<> tell_what_fails(Rank& self) {
  const std::uint32_t peer = (self.id() + 1) % self.size();
  co_await self.tell(peer, throw_told, "thrown at once");
  co_await self.tell(peer, throw_told_later, "thrown later");
  co_await self.call(peer, [](Rank&) -> Task<> {
    for (int i = 0; i < 10; ++i) co_await yield();
  });
}

/// Everybody has a place in a slab of everybody that is gone by now, and whose memory another slab has.
Task<> use_slab_that_is_gone(Rank& self) {
  std::vector<Remote<std::uint64_t>> places;
  {
    auto slab = self.allocate<std::uint64_t>(100);
    places = co_await self.world().gather_all(slab.remote());
    co_await self.put_value(std::uint64_t{1}, places[(self.id() + 1) % self.size()] + 99);
    co_await self.world().barrier();
  }
  auto slab = self.allocate<std::uint64_t>(50);
  auto signals = self.allocate_signals(1);
  const auto signal_places = co_await self.world().gather_all(signals.remote());
  const auto good = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint64_t value = 77;
  const Layout two = Layout::of<std::uint64_t>().vector(2, 1, 20);
  const ScatteredSource twice{slab.data(), two};
  std::vector<std::string> told;
  const auto note = [&told](const Result<>& result) {
    told.push_back(result.ok() ? "nothing" : result.error().what());
  };
  note(co_await as_result(self.put_value(value, places[right])));
  note(co_await as_result(self.put_signal(std::span(&value, 1), places[right] + 3, signal_places[right])));
  note(co_await as_result(self.put(twice, places[right], two)));
  note(co_await as_result(self.put_value(value, good[right] + 56)));  // behind its end
  const auto atomic = co_await as_result(self.fetch_add(places[right], 1));
  told.push_back(atomic.ok() ? "nothing" : atomic.error().what());
  const auto got = co_await as_result(self.get_value(places[right]));
  told.push_back(got.ok() ? "nothing" : got.error().what());
  co_await self.put_value(value, good[right] + 49);
  co_await self.world().barrier();
  if (slab[49] != 77 || signals[0].value() != 0) told.emplace_back("what is there was not written, or more");
  for (const std::string& text : told) std::printf("rank %u is told: %s\n", self.id(), text.c_str());
}

std::string what_to_do;
unsigned who = 0;

Task<> app(Rank& self) {
  if (what_to_do == "gone slab") {
    co_await use_slab_that_is_gone(self);
    co_return;
  }
  if (what_to_do == "stubborn") ::signal(SIGTERM, SIG_IGN);
  if (what_to_do == "all abort") std::abort();
  if (self.id() == who) {
    misbehave(what_to_do);
    co_await misuse(self.world(), what_to_do);
    if (what_to_do == "tell") co_await tell_what_fails(self);
    if (what_to_do == "await an object") co_await fetch_object<int>(self, (who + 1) % self.size(), "table");
    if (what_to_do == "let go running") static_cast<void>(start(self, fail_soon(5)));
    if (what_to_do == "let go failed") static_cast<void>(start(self, fail_soon(0)));
    if (what_to_do == "unreceived") {
      for (const std::uint64_t tag : {7U, 7U, 8U}) co_await self.world().send_value(1, 0, tag);
    }
    if (what_to_do == "sleep" || what_to_do == "stubborn") co_await sleep_for(std::chrono::hours(1));
  }
  if (what_to_do == "unreceived" && self.id() == 0) co_await self.world().wait_probe(who, 8);
  co_await self.world().barrier();
  if (self.id() == who) std::puts("the barrier is done");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  what_to_do = argv[1];
  if (argc > 2) who = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  if (what_to_do == "no coracle" && rank_from_environment() == who) return 0;
  return run(argc, argv, app);
}
