// The sizes, the memory, and what is looked at.
#include "apps/bench/dma/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/core/error.hpp"
#include "runtime/core/timer.hpp"
#include "transports/cuda/failure.hpp"

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

namespace {

using cuda::require;

constexpr std::byte kPoison{0xa5};
/// By how much a chain's targets are off their places.
constexpr std::uint64_t kShift = 64;
constexpr std::uint64_t kShifts = 7;
/// As CudaOptions has it.
constexpr std::uint64_t kStuckAfter = 30'000'000'000;

/// What the largest of the measurements needs of each memory.
std::uint64_t bytes_needed(const GpuPlan& plan) {
  std::uint64_t bytes = std::max(plan.large_bytes, 2 * plan.strided_bytes);
  for (const std::uint64_t each : plan.latency_sizes) bytes = std::max(bytes, each);
  for (const std::size_t copies : plan.chain_lengths)
    for (const std::uint64_t block : plan.chain_blocks) bytes = std::max(bytes, chain_reach(copies, block));
  return bytes + GpuGround::kGuardBytes;
}

void fill_with_random(std::span<std::byte> memory) {
  std::mt19937_64 random(1);
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= memory.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(memory.data() + at, &word, sizeof word);
  }
  for (; at < memory.size(); ++at) memory[at] = static_cast<std::byte>(random());
}

cuda::CopyOptions options_for(const GpuPlan& plan, unsigned channels) {
  cuda::CopyOptions options;
  options.device.device = plan.device;
  options.device.channels = channels;
  options.spread_max = channels;
  return options;
}

}  // namespace

GpuGround::GpuGround(EventLoop& loop, cuda::CudaApi& api, const GpuPlan& plan) : api_(api), plan_(plan) {
  // First, since it says best what is wrong with a device.
  for (const unsigned channels : plan.channels)
    engines_.push_back(std::make_unique<cuda::CopyEngine>(loop, api, options_for(plan, channels)));
  device_name_ = engines_.front()->device().model();
  int devices = 0;
  require(api, api.device_count(devices), "bench dma: looking for devices");
  if (devices > 1) peer_ = (plan.device + 1) % devices;
  const std::uint64_t bytes = bytes_needed(plan);
  if (peer_ >= 0) far_target_ = cuda::allocate_on(api, peer_, bytes);
  near_source_ = cuda::allocate_on(api, plan.device, bytes);  // chooses the device for all that follows
  near_target_ = cuda::allocate_on(api, plan.device, bytes);
  random_ = cuda::allocate_pinned(api, bytes);
  scratch_ = cuda::allocate_pinned(api, bytes);
  fill_with_random(random_.span());
  cuda::Stream stream = nullptr;
  require(api, api.create_stream(stream), "bench dma: making a stream");
  stream_ = {stream, EndStream{&api}};
  move(near_source_.data(), random_.data(), bytes);
}

void GpuGround::abandon() noexcept {
  random_.abandon();
  scratch_.abandon();
  near_source_.abandon();
  near_target_.abandon();
  far_target_.abandon();
}

std::vector<GpuRoute> GpuGround::routes() const {
  std::vector<GpuRoute> routes{GpuRoute::to_device, GpuRoute::to_host, GpuRoute::within};
  if (peer_ >= 0) routes.push_back(GpuRoute::between);
  return routes;
}

std::string GpuGround::text_of(GpuRoute route) const {
  const std::string device = fmt::format("device {} ({})", plan_.device, device_name_);
  switch (route) {
    case GpuRoute::to_device:
      return "pinned memory to " + device;
    case GpuRoute::to_host:
      return device + " to pinned memory";
    case GpuRoute::within:
      return "within " + device;
    default:
      return fmt::format("{} to device {}{}", device, peer_,
                         engines_.front()->device().reaches_device(peer_) ? "" : ", which it does not reach by itself");
  }
}

std::string GpuGround::streams_text(std::size_t index) const {
  const unsigned channels = plan_.channels[index];
  return channels == 1 ? "1 stream" : fmt::format("up to {} streams", channels);
}

const std::byte* GpuGround::source(GpuRoute route) const noexcept {
  return route == GpuRoute::to_device ? random_.data() : near_source_.data();
}

std::byte* GpuGround::target(GpuRoute route) const noexcept {
  switch (route) {
    case GpuRoute::to_host:
      return scratch_.data();
    case GpuRoute::between:
      return far_target_.data();
    default:
      return near_target_.data();
  }
}

void GpuGround::hand_over(GpuRoute route, std::uint64_t bytes) {
  const bool staged = route == GpuRoute::between && !engines_.front()->device().reaches_device(peer_);
  if (!staged)
    return require(api_, api_.copy(target(route), source(route), bytes, stream_.get()), "bench dma: a plain copy");
  cuda::Box box{.source = source(route), .target = target(route), .width = bytes};
  box.source_pitch = box.target_pitch = bytes;
  require(api_, api_.copy_peer(box, plan_.device, peer_, stream_.get()), "bench dma: a plain copy between devices");
}

void GpuGround::copy_plainly(GpuRoute route, std::uint64_t bytes) {
  hand_over(route, bytes);
  require(api_, api_.wait_for_stream(stream_.get()), "bench dma: waiting for a plain copy");
}

void GpuGround::copy_asking(GpuRoute route, std::uint64_t bytes) {
  hand_over(route, bytes);
  wait("bench dma: asking after a plain copy");
}

void GpuGround::wait(const char* what) {
  const std::uint64_t until = real_clock().now_ns() + kStuckAfter;
  cuda::Status status = cuda::kNotReady;
  while (status == cuda::kNotReady && real_clock().now_ns() < until) status = api_.query_stream(stream_.get());
  require(api_, status, what);
}

/// To and from memory of whatever device.
void GpuGround::move(std::byte* target, const std::byte* source, std::uint64_t bytes) {
  require(api_, api_.copy(target, source, bytes, stream_.get()), "bench dma: preparing and looking at bytes");
  wait("bench dma: preparing and looking at bytes");
}

std::vector<tca::Descriptor> GpuGround::irregular_chain(GpuRoute route, std::size_t copies,
                                                        std::uint64_t block_bytes) const {
  std::vector<std::size_t> slots(copies);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), std::mt19937_64(copies));
  std::vector<tca::Descriptor> chain;
  for (std::size_t i = 0; i < copies; ++i)
    chain.push_back({source(route) + 2 * block_bytes * slots[i],
                     target(route) + 2 * block_bytes * i + i % kShifts * kShift, block_bytes});
  return chain;
}

std::uint64_t chain_reach(std::size_t copies, std::uint64_t block_bytes) noexcept {
  return 2 * block_bytes * copies + kShifts * kShift;
}

void GpuGround::poison(GpuRoute route, std::uint64_t bytes) {
  std::fill_n(scratch_.data(), bytes, kPoison);
  if (route != GpuRoute::to_host) move(target(route), scratch_.data(), bytes);
}

void GpuGround::verify(GpuRoute route, tca::Chain chain, std::uint64_t bytes, const std::string& what) {
  if (route != GpuRoute::to_host) move(scratch_.data(), target(route), bytes);
  const std::span<const std::byte> image = scratch_.span().first(bytes);
  const std::size_t at = first_wrong(chain, source(route), random_.span(), target(route), image, kPoison);
  if (at == image.size()) return;
  throw Error(
      {EIO, std::generic_category()},
      fmt::format("bench dma: {}, {}: byte {} of {} holds {:#04x}, which it should not: its copy has gone wrong, or "
                  "something else wrote there; nothing that this GPU copies can be trusted (look for Xid in dmesg)",
                  text_of(route), what, at, bytes, std::to_integer<unsigned>(image[at])));
}

std::size_t first_wrong(tca::Chain chain, const std::byte* source, std::span<const std::byte> random,
                        const std::byte* target, std::span<const std::byte> image, std::byte poison) {
  std::vector<std::byte> expected(image.size(), poison);
  for (const tca::Descriptor& each : chain)
    for (std::uint64_t block = 0; block < each.count; ++block)
      std::memcpy(expected.data() + (each.target_block(block) - target),
                  random.data() + (each.source_block(block) - source), each.block_bytes);
  const auto differs = std::mismatch(expected.begin(), expected.end(), image.begin()).first;
  return static_cast<std::size_t>(differs - expected.begin());
}

}  // namespace coracle::internals::bench
