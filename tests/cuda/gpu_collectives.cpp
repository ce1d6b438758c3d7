// A program that every rank runs (`coracle run --place process|thread`): collectives with memory of GPUs, on the
// stand-in. Exit status 0 when all checks of all ranks hold.
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/cuda/gpu_program.hpp"

using namespace coracle;
using namespace coracle::test;

namespace {

/// Calls a collective on a team of its own, which breaks. Where the memory is a GPU's it tells so; elsewhere it may be
/// over already when another gives up.
template <class Attempt>
Task<> refused_to(Rank& self, bool on_device, Attempt attempt, std::string_view what) {
  const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
  std::error_code code;
  try {
    co_await attempt(*team);
  } catch (const Error& error) {
    code = error.code();
  }
  require(on_device ? code == Errc::unsupported : !code || code == Errc::given_up, what);
  co_await self.world().barrier();
}

/// Each with a GPU's memory at all members, and at one only.
Task<> refusals(Rank& self, Gpu& gpu) {
  const std::uint32_t size = self.size();
  const DeviceSlab<int> device(gpu.allocate<int>(1000 * size));
  std::vector<int> host(1000 * size);
  std::vector<int> other(1000 * size);
  const std::vector<std::size_t> counts(size, 1000);
  const Layout layout = Layout::of<int>().vector(500, 1, 2);
  for (const bool everywhere : {true, false}) {
    const bool on_device = everywhere || self.id() == 0;
    const std::span<int> all = on_device ? device.local() : std::span(host);
    const std::span<int> mine = all.first(1000);
    const std::span<int> rest(other);
    const auto refuse = [&](auto attempt, std::string_view what) { return refused_to(self, on_device, attempt, what); };
    co_await refuse([&](Team& team) { return team.reduce(mine, std::plus<>(), 0); }, "reduce");
    co_await refuse([&](Team& team) { return team.all_reduce(mine, std::plus<>()); }, "all_reduce");
    co_await refuse([&](Team& team) { return team.all_reduce(mine.first(2), std::plus<>()); }, "short all_reduce");
    co_await refuse([&](Team& team) { return team.reduce_scatter(all, rest.first(1000), std::plus<>()); },
                    "reduce_scatter");
    co_await refuse([&](Team& team) { return team.scan(mine, std::plus<>()); }, "scan");
    co_await refuse([&](Team& team) { return team.exclusive_scan(mine, std::plus<>(), 0); }, "exclusive_scan");
    co_await refuse([&](Team& team) { return team.gather_all(rest.first(1000), all); }, "gather_all");
    co_await refuse([&](Team& team) { return team.all_to_all(all, rest); }, "all_to_all");
    const ScatteredSource source{all.data(), layout};
    const ScatteredTarget target{other.data(), layout};
    co_await refuse([&](Team& team) { return team.all_to_all(source, target); }, "all_to_all of layouts");
    co_await refuse([&](Team& team) { return team.gather(mine, rest, 0); }, "gather");
    co_await refuse([&](Team& team) { return team.gather_v(mine, rest, counts, 0); }, "gather_v");
    co_await refuse([&](Team& team) { return team.scatter(rest, mine, 0); }, "scatter");
    co_await refuse([&](Team& team) { return team.scatter_v(rest, counts, mine, 0); }, "scatter_v");
  }
}

Task<> app(Rank& self) {
  GpuOptions options;
  options.segment_bytes = 1 << 20;
  Gpu& gpu = *co_await Gpu::open(self, driver(), options);
  co_await refusals(self, gpu);
  require_no_misuse();
  if (self.id() == 0) fmt::print("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv, app);
}
