// A program that every rank runs (`coracle run --place process|thread`): collectives with memory of GPUs, on the
// stand-in. `--failing`: the GPU of a root, or of another member, ends. Exit status 0 when all checks of all ranks
// hold.
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/cuda/gpu_program.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

std::string_view mode;

/// Calls a collective on a team of its own, which breaks. Where the memory is a GPU's it tells so; elsewhere it may be
/// over already when another gives up.
template <class Attempt>
Task<> refused_to(Rank& self, bool on_device, Attempt attempt, std::string_view what) {
  const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
  std::error_code code;
  std::string told = "nothing";
  try {
    co_await attempt(*team);
  } catch (const Error& error) {
    code = error.code();
    told = error.what();
  }
  require(on_device ? code == Errc::unsupported : !code || code == Errc::given_up,
          fmt::format("{}, where the team is told: {}", what, told));
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

/// The kinds of memory at all members, different from one to the next.
Kind kind_at(std::uint32_t rank, std::uint64_t round) {
  return kKinds[(rank * 2 + round) % kKinds.size()];
}

/// From each root, of all lengths, by all choices; each member in memory of another kind.
Task<> broadcasts(Rank& self, Memory& memory) {
  std::vector<BroadcastChoice> choices(1);
  for (const BroadcastMethod method :
       {BroadcastMethod::plain, BroadcastMethod::pipelined, BroadcastMethod::competitive}) {
    BroadcastChoice choice;
    choice.method = method;
    choice.chunk_bytes = 20'000;
    choice.fan_out = 1;
    choices.push_back(choice);
    choice.tree = BroadcastTree::ring;
    choice.fan_out = 8;
    choices.push_back(choice);
  }
  std::uint64_t round = 0;
  for (const BroadcastChoice& choice : choices) {
    for (const std::size_t bytes : {0U, 1U, 100U, 1000U, 20'000U, 300'001U}) {
      for (std::uint32_t root = 0; root < self.size(); ++root, ++round) {
        std::mt19937_64 random(round);
        const Bytes sent = random_bytes(random, bytes + 16);
        Bytes expected = random_bytes(random, bytes + 16);
        const Place place = memory.of(kind_at(self.id(), round));
        co_await fill(self, place, self.id() == root ? sent : expected);
        co_await self.world().broadcast(place.bytes.first(bytes), root, choice);
        std::copy_n(sent.begin(), bytes, expected.begin());
        require(co_await content(self, place, bytes + 16) == (self.id() == root ? sent : expected),
                "a broadcast brings the root's bytes, and no others");
      }
    }
  }
}

/// Several at a time keep their order, although some have to wait for GPUs.
Task<> many_at_a_time(Rank& self, Memory& memory) {
  constexpr std::size_t kBytes = 30'000;
  constexpr std::uint32_t kMany = 6;
  std::vector<Started<>> all;
  std::array<Bytes, kMany> host;
  for (std::uint32_t number = 0; number < kMany; ++number) {
    host[number].assign(kBytes, static_cast<std::byte>(number + 1));
    const bool on_device = (self.id() + number) % 2 == 0;
    const std::uint32_t root = number % self.size();
    if (self.id() != root) host[number].assign(kBytes, std::byte{0});
    if (on_device)
      co_await self.put(host[number], memory.device.remote() + static_cast<std::ptrdiff_t>(number * kBytes));
  }
  co_await self.world().barrier();
  for (std::uint32_t number = 0; number < kMany; ++number) {
    const bool on_device = (self.id() + number) % 2 == 0;
    const std::span<std::byte> place =
        on_device ? memory.device.local().subspan(number * kBytes, kBytes) : std::span(host[number]);
    all.push_back(start(self, self.world().broadcast(place, number % self.size())));
  }
  for (Started<>& each : all) co_await each.done();
  for (std::uint32_t number = 0; number < kMany; ++number) {
    Bytes came = host[number];
    if ((self.id() + number) % 2 == 0)
      co_await self.get(memory.device.remote() + static_cast<std::ptrdiff_t>(number * kBytes), std::span(came));
    require(came == Bytes(kBytes, static_cast<std::byte>(number + 1)), "broadcasts at a time keep their order");
  }
}

/// A root whose GPU fails breaks the team; another member fails alone.
Task<> failures(Rank& self, Gpu& gpu) {
  const DeviceSlab<std::byte> device(gpu.allocate<std::byte>(100'000));
  Bytes host(100'000);
  const std::uint32_t failing = self.size() - 1;
  co_await self.world().barrier();
  if (self.id() == failing) {
    FakeFaults faults;
    faults.failing_copies = 1;
    machine().set(faults);
  }
  const std::span<std::byte> place = self.id() == failing ? device.local() : std::span(host);
  for (const std::size_t bytes : {100U, 100'000U}) {
    const auto receive = [&]() -> Task<> { co_await self.world().broadcast(place.first(bytes), 0); };
    if (self.id() == failing)
      co_await refused(Errc::device_failed, receive, "a member's GPU that fails ends its broadcast");
    else
      co_await receive();
    co_await self.world().barrier();
    const std::unique_ptr<Team> team = co_await self.world().split(0, self.id());
    const auto send = [&]() -> Task<> { co_await team->broadcast(place.first(bytes), failing); };
    co_await refused(self.id() == failing ? Errc::device_failed : Errc::given_up, send,
                     "a root's GPU that fails ends the broadcast of all");
    co_await self.world().barrier();
  }
}

Task<> app(Rank& self) {
  GpuOptions options;
  options.segment_bytes = 1 << 20;
  Gpu& gpu = *co_await Gpu::open(self, driver(), options);
  if (mode == "--failing") co_return co_await failures(self, gpu);
  Memory memory(self, gpu);
  co_await broadcasts(self, memory);
  co_await many_at_a_time(self, memory);
  co_await self.world().barrier();
  co_await refusals(self, gpu);
  require_no_misuse();
  if (self.id() == 0) fmt::print("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  mode = argc > 1 ? argv[1] : "";
  if (owns_devices()) return own_devices();
  return run(argc, argv, app);
}
