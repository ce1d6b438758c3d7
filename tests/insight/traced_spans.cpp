// Names spans, for the tests of traces: `traced_spans [TIMES]`.
#include <coracle/coracle.hpp>
#include <cstdlib>
#include <optional>
#include <string>

using namespace coracle;

namespace {

Task<> work(Rank& self, int times) {
  const Span outer(self, "outer");
  for (int time = 0; time < times; ++time) {
    const std::string name = "inner " + std::to_string(time % 2);  // gone when the trace is written
    const Span inner(self, name.c_str());
    co_await yield();
    if (time < 2) co_await self.world().barrier();
  }
  std::optional<Span> kept;
  {
    Span moved(self, "moved");
    kept.emplace(std::move(moved));
  }
  co_await self.world().barrier();
  kept->end();
  kept->end();
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? std::atoi(argv[1]) : 2;
  return run(argc, argv, [times](Rank& self) { return work(self, times); });
}
