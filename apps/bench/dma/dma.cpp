// `coracle bench dma`: PEACH2's model in virtual time: its channels, ping-pong over one to four of them, faces of
// arrays, and transfers that follow at once. The figures of the paper (IPSJ HPC-156, 2016); see docs/results/tca.md.
// A GPU is measured by gpu.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/dma/gpu.hpp"
#include "transports/tca/virtual_device.hpp"

namespace coracle::internals::bench {
namespace {

using tca::Descriptor;
using tca::DmaOptions;
using tca::Peach2Model;
using tca::VirtualDma;
using tca::Waited;

constexpr int kLearningRuns = 12;  // more than any pattern needs

void add(Bench& bench, const std::string& title, std::string name, double ns, std::string limit_name, double limit_ns,
         std::uint64_t bytes, nlohmann::json details, std::vector<OtherWay> others = {}) {
  bench.report.add("PEACH2's model: " + title,
                   {std::move(name), "ns", exactly(ns), std::move(limit_name), exactly(limit_ns),
                    static_cast<double>(bytes), std::nullopt, std::move(details), std::move(others)});
}

DmaOptions over(unsigned channels) {
  DmaOptions options;
  options.channels_max = channels;
  return options;
}

/// One transfer, from its doorbell until all bytes are there.
double run_once(VirtualDma& dma, const Descriptor& whole) {
  Waited waited;
  const std::uint64_t before = dma.now_ns();
  dma.engine().copy(whole, waited);
  while (!waited.over) dma.step();
  return static_cast<double>(dma.now_ns() - before);
}

/// What a transfer takes that has been learned, with pauses between.
double learned_ns(VirtualDma& dma, const Descriptor& whole) {
  for (int run = 0; run < kLearningRuns; ++run) {
    run_once(dma, whole);
    dma.rest();
  }
  const double time = run_once(dma, whole);
  dma.rest();
  return time;
}

/// The same by itself, over so many channels of a model.
double contiguous_ns(const Peach2Model& model, unsigned channels, std::uint64_t bytes) {
  VirtualDma dma(2 * bytes, model, over(channels));
  return learned_ns(dma, {dma.memory(), dma.memory() + bytes, bytes});
}

void channels(Bench& bench) {
  constexpr std::array<double, 4> kPublished{2.9, 1.3, 0.7, 0.7};
  for (unsigned channel = 0; channel < 4; ++channel) {
    for (std::uint64_t bytes = 64; bytes <= 4 << 20; bytes *= 4) {
      Peach2Model model;
      for (unsigned other = 0; other < 4; ++other)
        if (other != channel) model.tags[other] = 0;
      const double time = contiguous_ns(model, 1, bytes);
      add(bench, "each channel by itself",
          fmt::format("channel {} ({} tags), {}", channel, model.tags[channel], size_text(bytes)), time,
          "published plateau", static_cast<double>(bytes) / kPublished[channel], bytes,
          {{"figure", 1}, {"channel", channel}, {"bytes", bytes}});
    }
  }
}

void ping_pong(Bench& bench) {
  for (std::uint64_t bytes = 16; bytes <= 1 << 20; bytes *= 2) {
    const Peach2Model model;
    const double one = contiguous_ns(model, 1, bytes);
    const double four = contiguous_ns(model, 4, bytes);
    const double two = contiguous_ns(model, 2, bytes);
    const double two_of_32 = contiguous_ns(Peach2Model::two_channels(), 2, bytes);
    add(bench, "one way of a ping-pong over four channels, learned", size_text(bytes), four, "one channel", one, bytes,
        {{"figure", 5}, {"bytes", bytes}, {"one", one}, {"two", two}, {"four", four}, {"two of 32", two_of_32}},
        {{"2 channels", exactly(two)}, {"2 of 32 tags", exactly(two_of_32)}});
  }
}

/// A face of an N x N x N array of 8-byte elements.
void faces(Bench& bench) {
  constexpr std::uint64_t kElement = 8;
  for (std::uint64_t n = 16; n <= 256; n *= 2) {
    const std::uint64_t row_bytes = n * kElement;
    const std::uint64_t plane = n * row_bytes;
    const auto add_face = [&](const char* name, auto time_over) {
      add(bench, "faces of an N x N x N array of 8-byte elements, four channels", fmt::format("N = {}, {}", n, name),
          time_over(4U), "one channel", time_over(1U), plane, {{"figure", 6}, {"n", n}, {"face", name}});
    };
    add_face("contiguous", [&](unsigned channels) { return contiguous_ns({}, channels, plane); });
    add_face("block-stride", [&](unsigned channels) {
      const std::uint64_t stride = 2 * row_bytes;  // how large it is makes no difference
      VirtualDma dma(2 * n * stride, {}, over(channels));
      const auto step = static_cast<std::int64_t>(stride);
      return learned_ns(dma, {dma.memory(), dma.memory() + n * stride, row_bytes, n, step, step});
    });
    // The chip can't move 8 bytes: the processor packs at one end and unpacks at the other, and one channel carries the
    // packets between, whose order counts. 2.5 GB/s: as the built-in model of memory has it.
    add_face("strided (packed)", [&](unsigned) {
      constexpr double kPackedBytesPerNs = 2.5;
      return contiguous_ns({}, 1, plane) + 2 * static_cast<double>(plane) / kPackedBytesPerNs;
    });
  }
}

/// One transfer at the moment when the one before is over: it waits until the controllers have stopped.
double in_a_row_ns(VirtualDma& dma, const Descriptor& whole) {
  constexpr int kRuns = 50;
  for (int run = 0; run < kLearningRuns; ++run) run_once(dma, whole);
  double sum = 0;
  for (int run = 0; run < kRuns; ++run) sum += run_once(dma, whole);
  return sum / kRuns;
}

void in_a_row(Bench& bench) {
  const auto time = [](const Peach2Model& model, std::uint64_t bytes, unsigned channels) {
    VirtualDma dma(2 * bytes, model, over(channels));
    return in_a_row_ns(dma, {dma.memory(), dma.memory() + bytes, bytes});
  };
  for (std::uint64_t bytes = 1024; bytes <= 256 << 10; bytes *= 2) {
    VirtualDma dma(2 * bytes);
    const double chosen = in_a_row_ns(dma, {dma.memory(), dma.memory() + bytes, bytes});
    add(bench, "transfers that follow at once, over as many channels as were chosen", size_text(bytes), chosen,
        "one channel", time({}, bytes, 1), bytes, {{"figure", "in a row"}, {"bytes", bytes}},
        {{"2 of 32 tags", exactly(time(Peach2Model::two_channels(), bytes, 2))}});
  }
}

class DmaBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "dma",
            .help = "DMA channels: PEACH2's model, in virtual time; or a GPU (--device)",
            .ranks = {1},
            .reads = {"--device"}};
  }
  void add_options(OptionGroup& command, Choices&) override {
    command.add_option("--device", device_, "dma: peach2 (its model), or a GPU: cuda, cuda:N").show_default();
  }
  void check(const Request& request) override {
    gpu_ = gpu_device(device_);
    if (!gpu_) return;
    if (request.benchmarks.size() > 1)
      wrong(
          fmt::format("--device {}: measure dma by itself: a process that has used a GPU can't start ranks", device_));
    if (request.placement || !request.ranks.empty() || request.nodes != 1)
      wrong(fmt::format("--device {}: the command itself uses the GPU: leave out --place, -n and --nodes", device_));
  }
  Report measure(Jobs& jobs) override {
    return gpu_ ? measure_real_gpu(*gpu_, jobs.request().quick) : Benchmark::measure(jobs);
  }

  Task<> run(Bench& bench) override {
    channels(bench);
    ping_pong(bench);
    faces(bench);
    in_a_row(bench);
    co_return;
  }

 private:
  std::string device_ = "peach2";
  std::optional<int> gpu_;  // none: the model
};

}  // namespace

std::unique_ptr<Benchmark> dma_benchmark() {
  return std::make_unique<DmaBenchmark>();
}

}  // namespace coracle::internals::bench
