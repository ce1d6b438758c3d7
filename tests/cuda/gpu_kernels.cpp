// A program that every rank runs (`coracle run --place pvas|process|thread`): kernels of its own on its GPU, on the
// stand-in. `--failing`: a kernel ends its device's context, at each of two ranks. `--owner-dies`, `--rank-dies`: a
// process of a shared address space is killed amid a kernel. Exit status 0 when all checks of all ranks hold.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/cuda/gpu_program.hpp"
#include "tests/cuda/test_kernels.hpp"

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;
using namespace std::chrono_literals;

namespace {

std::string_view mode;

/// A rank's numbers on its GPU, and a table of two additions to them.
struct Numbers {
  Numbers(Gpu& gpu, cuda::Kernels& kernels) : device(gpu.allocate<std::uint64_t>(kCount)) {
    parameter = {device.data(), 1};
    const cuda::Launch launch{kernels.find("add"), {10, 1, 1}, {100, 1, 1}, std::as_bytes(std::span(&parameter, 1))};
    table = kernels.load({launch, launch});
  }

  DeviceSlab<std::uint64_t> device;
  Addition parameter{};
  tca::TableId table;
};

/// Kernels at all ranks, puts between their GPUs, and kernels again on what has come.
Task<> compute(Rank& self, Gpu& gpu, cuda::Kernels& kernels, Team& team, int rounds) {
  Numbers numbers(gpu, kernels);
  const DeviceSlab<std::uint64_t> inbox = gpu.allocate<std::uint64_t>(kCount);
  const auto inboxes = co_await team.gather_all(inbox.remote());
  const auto next = (team.index() + 1) % team.size();
  const Remote<std::uint64_t> there = inboxes[next];
  std::uint64_t sum = 0;
  std::vector<std::uint64_t> seen(kCount);
  const std::vector<std::uint64_t> zeros(kCount);
  co_await self.put(std::span(zeros), numbers.device.remote());
  for (int round = 1; round <= rounds; ++round) {
    numbers.parameter.value = static_cast<std::uint64_t>(round);
    co_await kernels.run(numbers.table);
    sum += 2 * numbers.parameter.value;
    co_await self.put(std::span<const std::uint64_t>(numbers.device.local()), there);
    co_await team.barrier();
    co_await self.get(inbox.remote(), std::span(seen));
    require(seen == std::vector<std::uint64_t>(kCount, sum), "what a peer's kernels made comes to this rank's GPU");
    co_await team.barrier();
  }
}

/// `attempt` must throw an Error that says this.
template <class Attempt>
void refuses(Attempt attempt, std::string_view part) {
  const std::string text = message_of(attempt);
  require(text.find(part) != std::string::npos, fmt::format("{} is thrown, and not: {}", part, text));
}

/// After so many more it is refused; all go back.
void load_and_refuse(Gpu& gpu, unsigned more) {
  if (more == 0) return refuses([&] { gpu.kernels(kCode); }, "end one, or compile more kernels into one");
  cuda::Kernels one = gpu.kernels(kCode);
  require(one.find("add") != nullptr, "kernels are found in code that is loaded once more");
  load_and_refuse(gpu, more - 1);
}

void refusals(Rank& self, Gpu& gpu, cuda::Kernels& kernels) {
  refuses([&] { kernels.find("nothing"); }, "looking for kernel nothing");
  refuses([&] { gpu.kernels(nullptr); }, "cuda: loading kernels for device");
  const std::vector<std::byte> long_one(cuda::kParameterBytesMax + 1);
  refuses([&] { kernels.load({{kernels.find("add"), {1, 1, 1}, {1, 1, 1}, long_one}}); }, "at most 4096 are possible");
  if (self.placement() != Placement::pvas) return;
  refuses([&] { gpu.engine().device(); }, "--place pvas");
  load_and_refuse(gpu, cuda::CommandQueues::kKernelsMax - 1);
  load_and_refuse(gpu, cuda::CommandQueues::kKernelsMax - 1);
}

Task<> run_table(cuda::Kernels& kernels, tca::TableId table) {
  co_await kernels.run(table);
}

/// How a run ends, in words.
Task<std::string> end_of(cuda::Kernels& kernels, tca::TableId table) {
  std::string ended;
  co_await run_and_tell(kernels, table, ended);
  co_return ended;
}

/// Every kernel of every rank ends with an error from then on, and none hangs.
Task<> owner_dies(Rank& self, cuda::Kernels& kernels, Numbers& numbers) {
  co_await kernels.run(numbers.table);
  co_await self.world().barrier();
  if (self.id() == 0) ::kill(test::FakeSpace::of_this_process().owner(), SIGKILL);
  std::string ended = "well";
  while (ended == "well") ended = co_await end_of(kernels, numbers.table);
  require(ended.find("the process that owns the GPUs of this node") != std::string::npos,
          "a kernel ends with the owner's death");
  refuses([&] { kernels.find("add"); }, "the process that owns the GPUs of this node");
  co_await self.world().barrier();
  if (self.id() == 0) fmt::print("ok\n");
}

/// `--survive`: the last rank dies amid a kernel; the others go on.
Task<> rank_dies(Rank& self, Gpu& gpu, cuda::Kernels& kernels) {
  const std::uint32_t last = self.size() - 1;
  const auto others = co_await self.world().split(self.id() == last ? 1 : 0, self.id());
  co_await let_die(self, last);
  if (self.id() == last) {
    const cuda::Launch launch{kernels.find("linger"), {1, 1, 1}, {1, 1, 1}, {}};
    Started<> running = start(self, run_table(kernels, kernels.load({launch, launch})));
    co_await sleep_for(20ms);
    ::kill(::getpid(), SIGKILL);
  }
  co_await self.more_lost(0);
  co_await compute(self, gpu, kernels, *others, 20);
  fmt::print("rank {} goes on\n", self.id());
  std::fflush(nullptr);
}

/// What ends the context is told, and so is all after it.
Task<> failing(Rank& self, cuda::Kernels& kernels, Numbers& numbers) {
  co_await self.world().barrier();  // ranks may share a context: both have looked for their kernels before it ends
  for (int time = 0; time < 2; ++time) {
    const std::string ended = co_await end_of(kernels, numbers.table);
    require(ended.find("cudaErrorIllegalAddress") != std::string::npos, "a kernel that fails is told by its name");
  }
  co_await self.world().barrier();
}

Task<> app(Rank& self) {
  GpuOptions options;
  options.segment_bytes = 1 << 20;
  Gpu& gpu = *co_await Gpu::open(self, driver(), options);
  cuda::Kernels kernels = gpu.kernels(kCode);
  if (mode == "--rank-dies") co_return co_await rank_dies(self, gpu, kernels);
  Numbers numbers(gpu, kernels);
  if (mode == "--owner-dies") co_return co_await owner_dies(self, kernels, numbers);
  if (mode == "--failing") co_return co_await failing(self, kernels, numbers);
  require(gpu.model() == fmt::format("stand-in {}", gpu.device()), "a GPU has the driver's name");
  co_await compute(self, gpu, kernels, self.world(), 30);
  refusals(self, gpu, kernels);
  co_await compute(self, gpu, kernels, self.world(), 3);
  co_await self.world().barrier();
  require_no_misuse();
  if (self.id() == 0) fmt::print("ok\n");
}

}  // namespace

int main(int argc, char** argv) {
  mode = argc > 1 ? argv[1] : "";
  driver().provide("add", add);
  driver().provide("linger",
                   [](const cuda::Launch&, const FakeMemory&) { return [] { std::this_thread::sleep_for(200ms); }; });
  if (mode == "--failing") {
    FakeFaults faults;
    faults.failing_kernels = 2;  // for ranks that share a driver: of each rank's GPU
    machine().set(faults);
  }
  if (owns_devices()) return own_devices();
  return run(argc, argv, app);
}
