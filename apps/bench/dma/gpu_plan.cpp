// The sizes.
#include "apps/bench/dma/gpu_plan.hpp"

namespace coracle::internals::bench {

GpuPlan gpu_plan(int device, bool quick) {
  GpuPlan plan;
  plan.device = device;
  plan.channels = {1, 2, 4, 8};
  plan.widths = {64, 256, 1 << 10, 4 << 10, 16 << 10};
  if (quick) {
    plan.plan = quick_plan();
    plan.large_bytes = 16 << 20;
    plan.sizes = {4 << 10, 1 << 20, 16 << 20};
    plan.latency_sizes = {8, 64 << 10};
    plan.strided_bytes = 1 << 20;
    plan.chain_lengths = {16};
    plan.chain_blocks = {4 << 10};
    return plan;
  }
  plan.plan = {15, 5e5, false};
  plan.large_bytes = 256 << 20;
  for (std::uint64_t bytes = 4 << 10; bytes <= 256 << 20; bytes *= 4) plan.sizes.push_back(bytes);
  for (std::uint64_t bytes = 8; bytes <= 64 << 10; bytes *= 4) plan.latency_sizes.push_back(bytes);
  plan.latency_sizes.push_back(64 << 10);
  plan.strided_bytes = 4 << 20;
  plan.chain_lengths = {16, 64, 256};
  plan.chain_blocks = {4 << 10, 16 << 10, 64 << 10};
  return plan;
}

}  // namespace coracle::internals::bench
