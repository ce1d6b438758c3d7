#include "apps/himeno/gpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "apps/himeno/block.hpp"

namespace coracle::himeno {
namespace {

constexpr std::size_t kCoefficients = std::tuple_size_v<decltype(constants_of(std::declval<Coefficients&>()))>;
/// As far as rows at a time are worth it: so that a warp's loads are of whole lines.
constexpr std::size_t kWidthMax = 64;

/// Arrays begin where rows are aligned.
std::size_t distance_of(const Block& block) noexcept {
  constexpr std::size_t kAlignedFloats = 256 / sizeof(float);
  return (block.floats() + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

std::uint64_t segment_bytes(const Block& block, std::size_t sums) noexcept {
  constexpr std::uint64_t kRoom = 1 << 16;  // for alignment
  return kCoefficients * distance_of(block) * sizeof(float) + 2 * block.floats() * sizeof(float) +
         sums * kSumWords * sizeof(std::uint64_t) + kRoom;
}

unsigned blocks_for(std::size_t points, std::size_t in_block) noexcept {
  return static_cast<unsigned>((points + in_block - 1) / in_block);
}

/// A rank's GPU, told to the others.
struct Seat {
  std::uint32_t node;
  int device;
  friend bool operator==(const Seat&, const Seat&) = default;
};

/// Collective.
Task<Gpu*> open_gpu(Rank& self, GpuChoice choice, Block block, GpuOptions options) {
  try {
    if (choice.api == nullptr) co_return co_await Gpu::open(self, options);
    co_return co_await Gpu::open(self, *choice.api, options);
  } catch (const Error& error) {
    if (error.code() != std::errc::not_enough_memory) throw;
    throw Error(
        error.code(),
        fmt::format("a block of {} points needs {:.2f} GiB of a GPU; take a smaller --size, or more GPUs and as "
                    "many ranks ({})",
                    to_text(block.count()), static_cast<double>(options.segment_bytes) * 0x1p-30, error.what()));
  }
}

}  // namespace

GpuShape shape_of(const Box& box, std::size_t enough) noexcept {
  const auto points = [&](std::size_t d) { return box.end[d] - box.begin[d]; };
  const std::size_t width = std::min(kWidthMax, std::bit_ceil(points(2)));
  const std::size_t height = std::min(kGpuThreads / width, std::bit_ceil(points(1)));
  const std::size_t all = points(0) * points(1) * points(2);
  GpuShape shape{};
  shape.depth = std::clamp<std::size_t>(all / enough, 1, kGpuDepthMax);
  // The rest of a block's threads lie in i, at most as many as a block may have there.
  constexpr std::size_t kThickMax = 64;
  const std::size_t thickness = std::min(kThickMax, kGpuThreads / width / height);
  shape.threads = {static_cast<unsigned>(width), static_cast<unsigned>(kGpuThreads / width / thickness),
                   static_cast<unsigned>(thickness)};
  shape.blocks = {blocks_for(points(2), shape.threads[0]), blocks_for(points(1), shape.threads[1]),
                  blocks_for(points(0), shape.threads[2] * shape.depth)};
  return shape;
}

Task<std::unique_ptr<GpuDevice>> GpuDevice::open(Rank& self, Triple size, Triple ranks, GpuChoice choice) {
  const Block block(size, ranks, self.id());
  GpuOptions options;
  options.device = choice.device;
  options.segment_bytes = segment_bytes(block, kSumsMax);
  Gpu* const gpu = co_await open_gpu(self, choice, block, options);
  const Seat mine{self.node(), gpu->device()};
  const std::vector<Seat> seats = co_await self.world().gather_all(mine);
  const auto sharing = static_cast<std::size_t>(std::ranges::count(seats, mine));
  auto device = std::make_unique<GpuDevice>(self, size, block, *gpu, choice.code, sharing);
  co_await device->fill_coefficients();
  co_await device->clear_sums();
  co_return device;
}

GpuDevice::GpuDevice(Rank& self, const Triple& size, const Block& block, Gpu& gpu, const void* code,
                     std::size_t sharing)
    : self_(self),
      size_(size),
      block_(block),
      sharing_(sharing),
      device_(gpu.device()),
      gpu_name_(gpu.model()),
      fields_(gpu.allocate<float>(kCoefficients * distance_of(block))),
      pressure_(gpu.allocate<float>(2 * block.floats())),
      words_(gpu.allocate<std::uint64_t>(kSumsMax * kSumWords)),
      kernels_(gpu.kernels(code)) {
  sums_.reserve(kSumsMax);
}

std::string GpuDevice::name() const {
  const std::string gpu = fmt::format("cuda:{} ({})", device_, gpu_name_);
  return sharing_ > 1 ? fmt::format("{} shared by {} ranks", gpu, sharing_) : gpu;
}

Task<> GpuDevice::fill_coefficients() {
  coefficients_.plane = block_.plane();
  coefficients_.row = block_.row();
  std::vector<float> host(block_.floats());
  std::size_t place = 0;
  for (const auto& [array, value] : constants_of(coefficients_)) {
    std::ranges::fill(host, value);
    co_await self_.put(std::span<const float>(host), fields_.remote() + static_cast<std::ptrdiff_t>(place));
    *array = fields_.data() + place + block_.at(0, 0, 0);
    place += distance_of(block_);
  }
}

Task<> GpuDevice::fill_pressure() {
  std::vector<float> host(block_.floats());
  himeno::fill_pressure(block_, size_, host.data());
  for (const std::size_t array : {0U, 1U})
    co_await self_.put(std::span<const float>(host),
                       pressure_.remote() + static_cast<std::ptrdiff_t>(array * block_.floats()));
}

Task<> GpuDevice::clear_sums() {
  const std::vector<std::uint64_t> zeros(words_.size());
  co_await self_.put(std::span<const std::uint64_t>(zeros), words_.remote());
}

cuda::TableId GpuDevice::load(const char* kernel, const std::vector<Relaxation>& boxes) {
  const cuda::Kernel function = kernels_.find(kernel);
  std::vector<cuda::Launch> launches;
  for (const Relaxation& each : boxes) {
    const GpuShape shape = shape_of(each.box);
    launches.push_back({function, shape.blocks, shape.threads, std::as_bytes(std::span(&each, 1))});
  }
  return kernels_.load(std::move(launches));
}

std::size_t GpuDevice::add_part(std::vector<Box> boxes) {
  auto part = std::make_unique<Part>();
  for (const Box& box : boxes)
    part->boxes.push_back({coefficients_, nullptr, nullptr, box, shape_of(box).depth, nullptr});
  part->relax = load("himeno_relax", part->boxes);
  part->stream = load("himeno_stream", part->boxes);
  parts_.push_back(std::move(part));
  return parts_.size() - 1;
}

/// At a state, and the words of a sum.
void GpuDevice::aim(Part& part, std::uint64_t state, std::uint64_t* sum) noexcept {
  float* const origin = pressure_.data() + block_.at(0, 0, 0);
  for (Relaxation& each : part.boxes) {
    each.pressure = origin + state % 2 * block_.floats();
    each.next = origin + (state + 1) % 2 * block_.floats();
    each.sum = sum;
  }
}

Task<> GpuDevice::relax(std::size_t part, std::uint64_t state, ExactSum& sum) {
  if (sums_.empty() || sums_.back() != &sum) {
    if (sums_.size() == kSumsMax) co_await settle();
    sums_.push_back(&sum);
  }
  aim(*parts_[part], state, words_.data() + (sums_.size() - 1) * kSumWords);
  co_await kernels_.run(parts_[part]->relax);
}

Task<> GpuDevice::settle() {
  if (sums_.empty()) co_return;
  std::vector<std::uint64_t> words(words_.size());
  co_await self_.get(words_.remote(), std::span<std::uint64_t>(words));
  for (std::size_t n = 0; n < sums_.size(); ++n) {
    std::uint64_t of_one[kSumWords];
    std::copy_n(&words[n * kSumWords], kSumWords, of_one);
    sums_[n]->add_halves(of_one);
  }
  sums_.clear();
  co_await clear_sums();
}

Task<> GpuDevice::stream(std::size_t part, std::uint64_t state) {
  aim(*parts_[part], state, nullptr);
  co_await kernels_.run(parts_[part]->stream);
}

}  // namespace coracle::himeno
