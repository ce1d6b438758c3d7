// A program whose ranks call collectives that don't fit each other: `miscall WHAT`. Each prints what it is told.
#include <coracle/coracle.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::internals;

namespace {

std::string what_to_do;

/// Marks where each side's call stands, so that the test finds the lines: here A, and there B.
Task<> call_wrongly(Team& team, bool odd) {
  std::vector<double> values(100, 1.0);
  const std::span few(values.data(), 4);
  double one = 1;
  if (what_to_do == "roots") {
    if (odd)
      co_await team.broadcast(few, 1);  // B roots
    else
      co_await team.broadcast(few, 0);  // A roots
  }
  if (what_to_do == "long roots") {
    std::vector<double> many(300'000);
    if (odd)
      co_await team.broadcast(many, 1);  // B long roots
    else
      co_await team.broadcast(many, 0);  // A long roots
  }
  if (what_to_do == "barrier and all_reduce") {
    if (odd)
      co_await team.all_reduce(one, std::plus<>());  // B barrier and all_reduce
    else
      co_await team.barrier();  // A barrier and all_reduce
  }
  if (what_to_do == "barrier and broadcast") {
    if (odd)
      co_await team.broadcast(few, 0);  // B barrier and broadcast
    else
      co_await team.barrier();  // A barrier and broadcast
  }
  if (what_to_do == "gather and scatter") {
    std::vector<double> all(4 * team.size());
    const std::span<double> at_root = team.index() == 0 ? std::span(all) : std::span<double>();
    if (odd)
      co_await team.scatter(at_root, few, 0);  // B gather and scatter
    else
      co_await team.gather(few, at_root, 0);  // A gather and scatter
  }
  if (what_to_do == "sizes") {
    if (odd)
      co_await team.all_reduce(std::span(values), std::plus<>());  // B sizes
    else
      co_await team.all_reduce(few, std::plus<>());  // A sizes
  }
  if (what_to_do == "scans") {
    if (odd)
      co_await team.exclusive_scan(few, std::plus<>(), 0.0);  // B scans
    else
      co_await team.scan(few, std::plus<>());  // A scans
  }
  if (what_to_do == "barrier and split") {
    if (odd)
      co_await team.barrier();  // B barrier and split
    else
      co_await team.split(0, 0);                   // A barrier and split
    co_await team.all_reduce(one, std::plus<>());  // signals say nothing of calls; what comes with data does
  }
  if (what_to_do == "nothing more") {
    if (!odd) co_await team.barrier();  // A nothing more
  }
}

Task<> app(Rank& self) {
  const bool odd = self.id() == 1;
  std::string told;
  try {
    co_await call_wrongly(self.world(), odd);
    // What went by in silence is told here.
    if (what_to_do != "nothing more") co_await self.world().barrier();
  } catch (const Error& error) {
    told = error.what();
  }
  if (!told.empty()) std::printf("rank %u is told: %s\n", self.id(), told.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  what_to_do = argv[1];
  return run(argc, argv, app);
}
