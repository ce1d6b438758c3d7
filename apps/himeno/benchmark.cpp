// The command line of `himeno`; then the order of things: checks, a rehearsal, the measurement, and what is said of
// them.
#include "apps/himeno/benchmark.hpp"

#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <coracle/gpu.hpp>
#include "apps/common/command_line.hpp"
#include "apps/common/file.hpp"
#include "apps/common/program.hpp"
#include "apps/common/units.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/report.hpp"
#include "apps/himeno/solver.hpp"

namespace coracle::himeno {
namespace {

constexpr std::size_t kSideMin = 3;  // one point that changes, and its neighbours
constexpr std::size_t kSideMax = 4096;

struct Named {
  const char* name;
  Triple size;
};
constexpr Named kSizes[] = {{"XS", {32, 32, 64}},
                            {"S", {64, 64, 128}},
                            {"M", {128, 128, 256}},
                            {"L", {256, 256, 512}},
                            {"XL", {512, 512, 1024}}};

const Named* find_named(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  const auto* const found = std::ranges::find(kSizes, text, &Named::name);
  return found == std::end(kSizes) ? nullptr : found;
}

std::string check_size(const std::string& text) {
  if (find_named(text) != nullptr) return "";
  const std::optional<Triple> size = parse_triple(text);
  if (size && std::ranges::min(*size) >= kSideMin && std::ranges::max(*size) <= kSideMax) return "";
  return fmt::format("{} is none of XS, S, M, L, XL, nor IxJxK with numbers from {} to {}, such as 33x17x65", text,
                     kSideMin, kSideMax);
}

std::string check_grid(const std::string& text) {
  return parse_triple(text) ? "" : fmt::format("{} is not IxJxK with numbers from 1, such as 2x2x1", text);
}

/// "cuda": by rank.
std::optional<int> gpu_of(const std::string& text) {
  return internals::parse_gpu(text, GpuOptions::kByRank);
}

std::string check_device(const std::string& text) {
  return text == "cpu" || gpu_of(text)
             ? ""
             : fmt::format("{} is none of cpu, cuda and cuda:N (`coracle info` lists GPUs)", text);
}

struct Words {
  std::string size = "M";
  std::string ranks;
  std::string device = "cpu";
  std::size_t iterations = 0;
};

void add_options(OptionGroup& app, Options& options, Words& words) {
  app.add_value(
      "--size", words.size, "SIZE",
      "points of the grid: XS (32x32x64), S (64x64x128), M (128x128x256), L (256x256x512), XL (512x512x1024), or "
      "any IxJxK",
      {check_size});
  app.add_value("--ranks-grid", words.ranks, "IxJxK", "how the ranks share it in i, j and k (with short borders)",
                {check_grid});
  app.add_value("--device", words.device, "DEVICE",
                "what computes: cpu; cuda, a GPU for each rank, those of a node in turn; or cuda:N, that one for all "
                "ranks. Not with --place sim",
                {check_device});
  const Option time =
      app.add_value("--time", options.time_s, "SECONDS", "to measure for about so long", positive_number(1e6));
  app.add_option("--iterations", words.iterations, "to measure, instead of as many as fit the time")
      .type_name("N")
      .check(whole_number(1, kIterationsMax))
      .excludes(time);
  app.add_flag("--no-limit", options.skips_limit,
               "don't measure what the memory allows, which takes a quarter of a second, and with large grids seconds");
  app.add_flag("--verify", options.verify,
               "compare each iteration's residual and the pressure at the end with a serial run, bit for bit");
  app.add_flag("--progress", options.shows_progress, "show how far the measurement is, where that is a terminal");
  app.add_option("--history", options.history_path, "write each iteration's residual to a file").type_name("FILE");
  app.add_option("--json", options.json_path, "write the results to a file too").type_name("FILE");
  app.add_option("--sim-mflops", options.sim_mflops,
                 "in placement sim: how fast each rank computes in virtual time (else computing takes none)")
      .type_name("MFLOPS")
      .check(positive_number(1e12));
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv) {
  CommandLine app(
      "The Himeno benchmark: a 19-point Jacobi solver of the Poisson equation on a grid that the ranks of a Coracle "
      "job share, with puts between layouts for its halos.",
      "himeno");
  Options options;
  Words words;
  add_options(app, options, words);
  if (const std::optional<int> status = app.parse(argc, argv)) return *status;
  if (const Named* const named = find_named(words.size)) {
    options.size = named->size;
    options.size_name = named->name;
  } else if (const std::optional<Triple> size = parse_triple(words.size)) {
    options.size = *size;
  }
  if (!words.ranks.empty()) options.ranks = parse_triple(words.ranks);
  options.gpu = gpu_of(words.device);
  if (words.iterations > 0) options.iterations = words.iterations;
  return options;
}

namespace {

constexpr std::size_t kRehearsalIterations = 3;

void check_grid_fits(const Rank& self, const Options& options) {
  const double arrays = (options.gpu ? 1 : 14) + (options.verify ? 14 : 0);
  const double share = self.placement() == Placement::sim ? 1 : 1.0 / self.nodes();
  check_memory(arrays * sizeof(float) * static_cast<double>(product(options.size)) * share,
               fmt::format("a grid of {} needs", to_text(options.size)), "--size",
               options.verify ? " with its verification" : "");
}

void check_ranks(const Rank& self, const Options& options) {
  if (!options.ranks) return;
  const Triple& ranks = *options.ranks;
  const Triple points = inner(options.size);
  if (product(ranks) != self.size())
    throw Error(Errc::bad_input, fmt::format("--ranks-grid {} is for {} ranks, and the job has {}; run it with -n {}, "
                                             "or leave the option out",
                                             to_text(ranks), product(ranks), self.size(), product(ranks)));
  for (std::size_t d = 0; d < 3; ++d) {
    if (ranks[d] <= points[d]) continue;
    throw Error(Errc::bad_input,
                fmt::format("--ranks-grid {} shares {} inner points in {} among {} ranks; take a larger --size, or "
                            "fewer ranks there",
                            to_text(ranks), points[d], "ijk"[d], ranks[d]));
  }
}

void check_gpu(const Rank& self, const Options& options, const GpuChoice& gpu) {
  if (!options.gpu) return;
  if (self.placement() == Placement::sim)
    throw Error(Errc::unsupported,
                "--device cuda: not under --place sim, in whose time no GPU works; take another --place");
  if (gpu.code == nullptr)
    throw Error(
        Errc::unsupported,
        "--device cuda: himeno was built without its kernels for GPUs; install the CUDA toolkit with nvcc (12.0 "
        "or newer; CUDA_HOME names its folder), then `meson configure BUILD -Dcuda=enabled` and build again");
  // The driver serves the process that owns the GPUs, and nobody else there: opening them tells what is wrong.
  if (self.placement() == Placement::pvas) return;
  const cuda::Support support = gpu.api != nullptr ? cuda::probe(*gpu.api) : cuda::probe();
  if (!support.available)
    throw Error(Errc::unsupported,
                fmt::format("--device cuda: no GPU can be used: {}; {}", support.detail, support.remedy));
  if (*options.gpu >= support.devices)
    throw Error(Errc::bad_input,
                fmt::format("--device cuda:{}: there is no such GPU ({}); take one of those, or `cuda` "
                            "for all of them in turn",
                            *options.gpu, support.detail));
}

/// At rank 0: all that can be wrong before anything is computed. Gives the ranks' arrangement.
Triple check(const Rank& self, const Options& options, const GpuChoice& gpu) {
  check_grid_fits(self, options);
  check_ranks(self, options);
  check_gpu(self, options, gpu);
  if (self.placement() == Placement::sim && !options.iterations)
    throw Error(Errc::bad_input, "virtual time is not what the iterations are to fill; in sim, give --iterations");
  const std::optional<Triple> ranks = options.ranks ? options.ranks : arrange(self.size(), options.size);
  if (!ranks)
    throw Error(Errc::bad_input,
                fmt::format("a grid of {} can't be shared by {} ranks in blocks; take a larger --size, "
                            "or another number of ranks",
                            to_text(options.size), self.size()));
  if (!options.history_path.empty()) check_writable(options.history_path);  // or it would fail only at the end
  return *ranks;
}

/// Runs and times; the sums are appended to `history`.
Task<Measured> measure(Rank& self, Solver& solver, std::size_t iterations, bool shows_progress,
                       std::vector<ExactSum>& history) {
  ProgressLine progress(shows_progress && self.id() == 0);
  co_await self.world().barrier();
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  const std::vector<ExactSum> sums =
      co_await solver.run(iterations, [&](std::size_t done) { progress.show(done, iterations); });
  const double seconds = static_cast<double>(self.loop().exact_now_ns() - begin_ns) * 1e-9;
  progress.clear();
  history.insert(history.end(), sums.begin(), sums.end());
  const double slowest = co_await self.world().all_reduce(seconds, max_of);
  co_return Measured{iterations, slowest, sums.back().value()};
}

std::size_t iterations_for(const Options& options, const Measured& rehearsal) {
  if (options.iterations) return *options.iterations;
  const double one_s = rehearsal.seconds / static_cast<double>(rehearsal.iterations);
  return static_cast<std::size_t>(std::clamp(options.time_s / one_s, 1.0, static_cast<double>(kIterationsMax)));
}

void say(const Rank& self, const std::string& text) {
  if (self.id() != 0) return;
  fmt::print("{}", text);
  std::fflush(stdout);
}

Task<> verify(Rank& self, Solver& solver, const Options& options, const std::vector<ExactSum>& history) {
  const std::vector<float> pressure = co_await solver.collect();
  if (self.id() != 0) co_return;
  const SerialRun serial = run_serially(options.size, history.size());
  const std::string apart = difference(serial, history, pressure, options.size);
  if (!apart.empty()) throw_mistake("himeno", apart);
}

/// Collective.
Task<std::unique_ptr<Device>> device_for(Rank& self, const Options& options, Triple ranks, GpuChoice gpu) {
  if (options.gpu) co_return co_await GpuDevice::open(self, options.size, ranks, gpu);
  const double points_per_s = self.placement() == Placement::sim ? options.sim_mflops * 1e6 / kFlopsPerPoint : 0;
  co_return std::make_unique<Processor>(self, options.size, ranks, *usable_kernels().front(), points_per_s);
}

/// `ranks`: of rank 0.
Task<> benchmark(Rank& self, const Options& options, Triple ranks, Device& device) {
  const bool is_simulated = self.placement() == Placement::sim;
  Solver solver(self, options.size, ranks, device);
  Report report;
  report.size_name = options.size_name;
  report.size = options.size;
  report.ranks = ranks;
  report.placement = to_string(self.placement());
  report.nodes = self.nodes();
  report.kernel = device.name();
  constexpr double kMemoryTime = 0.25;
  if (!is_simulated && !options.skips_limit)
    report.memory_s = co_await solver.time_memory(std::min(kMemoryTime, options.time_s / 4));
  co_await solver.connect();

  std::vector<ExactSum> history;
  report.rehearsal.iterations = kRehearsalIterations;
  say(self, beginning_text(report));
  report.rehearsal = co_await measure(self, solver, kRehearsalIterations, false, history);
  say(self, rehearsal_text(report));
  const std::size_t iterations = iterations_for(options, report.rehearsal);
  say(self, plan_text(iterations, report.rehearsal.seconds / kRehearsalIterations * static_cast<double>(iterations)));
  report.measured = co_await measure(self, solver, iterations, options.shows_progress, history);
  if (options.verify) co_await verify(self, solver, options, history);
  report.verified = options.verify;
  say(self, result_text(report));
  if (self.id() != 0) co_return;
  if (!options.history_path.empty()) write_whole(history_text(history), options.history_path);
  if (!options.json_path.empty()) write_whole(to_json(report), options.json_path);
}

}  // namespace

Task<> run_all(Rank& self, const Options& options, GpuChoice gpu) {
  Triple ranks{};
  if (self.id() == 0) ranks = check(self, options, gpu);
  co_await self.world().broadcast(std::span<std::size_t>(ranks), 0);
  const std::unique_ptr<Device> device = co_await device_for(self, options, ranks, gpu);
  co_await benchmark(self, options, ranks, *device);
  co_await self.world().barrier();  // nobody gives memory back that a neighbour still writes to
}

}  // namespace coracle::himeno
