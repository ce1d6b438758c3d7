// How ranks find each other's GPUs, and what the engines are given.
#include "transports/cuda/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/job/accelerator.hpp"
#include "runtime/rank/device_transfers.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/sized_values.hpp"
#include "transports/cuda/owned_device.hpp"
#include "transports/cuda/owner_link.hpp"

namespace coracle::internals {

/// The GPUs that a rank has opened, as the one accelerator that the runtime knows: it finds out which of them is
/// concerned. Belongs to its Rank. Rank's thread only. `Device`: a final class with the functions of Accelerator, and
/// with owns(address), whether it lies in this rank's own memory there; so that transfers ask each without a virtual
/// call.
template <class Device>
class GpuSet final : public Accelerator {
 public:
  explicit GpuSet(Rank& rank) noexcept : rank_(rank), transfers_(rank, *this) {}
  ~GpuSet() override { rank_.core().set_device_memory(nullptr); }
  GpuSet(const GpuSet&) = delete;
  GpuSet& operator=(const GpuSet&) = delete;

  /// The number of the next.
  unsigned size() const noexcept { return static_cast<unsigned>(gpus_.size()); }
  Device& add(std::unique_ptr<Device> gpu) {
    gpus_.push_back(std::move(gpu));
    rank_.core().set_device_memory(&transfers_);
    return *gpus_.back();
  }

  bool covers(const void* address) const noexcept override {
    return std::any_of(gpus_.begin(), gpus_.end(), [address](const auto& gpu) { return gpu->covers(address); });
  }
  RemoteAddress place_of(const void* address) const noexcept override {
    const auto found =
        std::find_if(gpus_.begin(), gpus_.end(), [address](const auto& gpu) { return gpu->covers(address); });
    return (*found)->place_of(address);
  }
  /// What one reaches the others do: the driver knows of it for all of a process's.
  bool engines_reach(const std::byte* begin, std::size_t bytes) noexcept override {
    return gpus_.front()->engines_reach(begin, bytes);
  }
  std::error_code check(const RemoteAddress& place, std::size_t bytes) const noexcept override {
    const std::uint32_t index = place.segment - kSegment;
    if (index >= gpus_.size()) return Errc::out_of_segment;
    return gpus_[index]->check(place, bytes);
  }
  std::byte* reach(const RemoteAddress& place) const noexcept override {
    return gpus_[place.segment - kSegment]->reach(place);
  }
  /// By the GPU whose own memory is read, or written; by the first, where none is.
  Task<> copy(std::span<const StridedCopy> copies) override { return gpu_for(copies.front()).copy(copies); }
  DeviceBuffer buffer() override { return gpus_.front()->buffer(); }

 private:
  /// Buffers go back to the GPU that has given them.
  void take_back(std::byte*) noexcept override {}
  Device& gpu_for(const StridedCopy& copy) const noexcept {
    for (const std::byte* end : {copy.source, static_cast<const std::byte*>(copy.target)})
      for (const auto& gpu : gpus_)
        if (gpu->owns(end)) return *gpu;
    return *gpus_.front();
  }

  Rank& rank_;
  std::vector<std::unique_ptr<Device>> gpus_;
  DeviceTransfers transfers_;
};

namespace {

/// Buffers are pinned so many at a time.
constexpr std::size_t kBuffersAtOnce = 16;

/// The rank's GPUs, once they have been opened; and CUDA, where nobody has given another.
struct OfRank {
  explicit OfRank(Rank& rank) noexcept : gpus(rank) {}
  std::vector<std::shared_ptr<cuda::OwnerLink>> links;  // under `pvas`, one for each GPU
  std::array<std::weak_ptr<cuda::OwnerLink>, cuda::CommandQueues::kKernelsMax> links_of_kernels;  // of those that live
  std::unique_ptr<cuda::OwnedMemory> owned;                                                       // by the first
  std::unique_ptr<cuda::CudaApi> api;
  GpuSet<Gpu> gpus;
};

int device_of(Rank& rank, cuda::MemoryApi& api, int asked, unsigned number) {
  if (asked != GpuOptions::kByRank) return asked;
  int devices = 0;
  if (api.device_count(devices) != cuda::kSuccess || devices == 0) return 0;  // who opens it says why not
  const JobRegion& region = rank.core().region();
  return static_cast<int>((rank.id() - region.first_rank() + number * region.ranks()) % static_cast<unsigned>(devices));
}

cuda::CopyOptions copy_options(Rank& rank, cuda::MemoryApi& api, const GpuOptions& options, unsigned number) {
  cuda::CopyOptions copies = options.copies;
  copies.device.device = device_of(rank, api, options.device, number);
  copies.device.placement = rank.placement();
  return copies;
}

/// CUDA itself, or what stands in for it; null under `pvas`.
cuda::CudaApi* cuda_of(Rank& rank, cuda::CudaApi* api) {
  if (rank.placement() == Placement::pvas) return nullptr;
  if (api != nullptr) return api;
  auto& real = rank.local<OfRank>().api;
  if (!real) real = cuda::real_api();
  return real.get();
}

/// Under `pvas`: what the owner of the node's GPUs does for this rank.
cuda::MemoryApi& memory_of(Rank& rank, cuda::CudaApi* cuda, unsigned number) {
  if (cuda != nullptr) return *cuda;
  auto& of_rank = rank.local<OfRank>();
  if (of_rank.links.size() == number)
    of_rank.links.push_back(std::make_shared<cuda::OwnerLink>(rank.core().region(), rank.id(), number));
  if (!of_rank.owned) of_rank.owned = std::make_unique<cuda::OwnedMemory>(*of_rank.links.front());
  return *of_rank.owned;
}

cuda::CopyEngine::Maker maker(Rank& rank, cuda::CudaApi* cuda, const cuda::CopyOptions& options, unsigned number) {
  return [&rank, cuda, &options, number](cuda::CudaHost& host) -> std::unique_ptr<cuda::StreamDevice> {
    if (cuda != nullptr) return std::make_unique<cuda::CudaDevice>(*cuda, host, options.device);
    auto& of_rank = rank.local<OfRank>();
    return std::make_unique<cuda::OwnedDevice>(of_rank.links[number], *of_rank.owned, host, options.device);
  };
}

/// For kernels that are to be loaded.
std::shared_ptr<cuda::OwnerLink> free_link(Rank& rank) {
  auto& links = rank.local<OfRank>().links_of_kernels;
  const auto free = std::find_if(links.begin(), links.end(), [](const auto& each) { return each.expired(); });
  if (free == links.end())
    throw Error(Errc::bad_input,
                fmt::format("rank {} uses the code of {} cuda::Kernels at a time, which are all it can "
                            "under --place pvas: end one, or compile more kernels into one",
                            rank.id(), links.size()));
  const auto number = Accelerator::kGpusMax + static_cast<unsigned>(free - links.begin());
  auto link = std::make_shared<cuda::OwnerLink>(rank.core().region(), rank.id(), number);
  *free = link;
  return link;
}

}  // namespace

cuda::Kernels Gpu::kernels(const void* code) {
  if (cuda_ != nullptr) return {rank_.loop(), *cuda_, code, copies_.device};
  const auto make = [this](cuda::CudaHost& host, const cuda::CudaOptions& options) {
    return std::make_unique<cuda::OwnedDevice>(free_link(rank_), api_, host, options);
  };
  return {rank_.loop(), make, code, copies_.device};
}

Gpu::Opening Gpu::begin(Rank& rank, cuda::CudaApi* api, const GpuOptions& options,
                        const std::exception_ptr& failure) noexcept {
  Opening opening;
  try {
    if (failure) std::rethrow_exception(failure);
    const unsigned number = rank.local<OfRank>().gpus.size();
    if (number == kGpusMax)
      throw Error(Errc::bad_input, fmt::format("rank {} has opened {} GPUs, which are all it can", rank.id(), number));
    opening.gpu = std::make_unique<Gpu>(rank, cuda_of(rank, api), options, number);
    opening.mine = opening.gpu->offered();
  } catch (...) {
    opening.failure = std::current_exception();  // the others wait to be told
  }
  return opening;
}

Gpu* Gpu::finish(Rank& rank, Opening opening, const std::vector<Offered>& all) {
  if (opening.failure) std::rethrow_exception(opening.failure);
  const auto without = std::find_if(all.begin(), all.end(), [](const Offered& each) { return !each.works; });
  if (without != all.end())
    throw Error(Errc::unsupported, fmt::format("rank {} could not open a GPU, so that no rank can: its own message "
                                               "tells why",
                                               without - all.begin()));
  if (std::any_of(all.begin(), all.end(), [&](const Offered& each) { return each.number != opening.mine.number; }))
    throw Error(Errc::bad_input, "ranks open their GPUs in different orders");
  opening.gpu->meet(all);
  return &rank.local<OfRank>().gpus.add(std::move(opening.gpu));
}

Gpu::Gpu(Rank& rank, cuda::CudaApi* api, const GpuOptions& options, unsigned number)
    : rank_(rank),
      cuda_(api),
      api_(memory_of(rank, api, number)),
      options_(options),
      number_(number),
      copies_(copy_options(rank, api_, options, number)),
      memory_(),
      engine_(rank.loop(), maker(rank, api, copies_, number), copies_),
      heap_(0, options.segment_bytes) {
  memory_ = cuda::allocate_on(api_, copies_.device.device, options.segment_bytes);
}

Gpu::~Gpu() {
  // Peers' copies, which may still be under way if this rank has failed, are the same process's: they would end its
  // context. The owner keeps the memory.
  if (rank_.placement() == Placement::pvas && !segments_.empty()) memory_.abandon();
}

Gpu::Offered Gpu::offered() {
  Offered mine{
      true, number_, options_.segment_bytes, reinterpret_cast<std::uint64_t>(memory_.data()), copies_.device.device,
      {}};
  if (rank_.placement() == Placement::process && options_.direct) mine.handle = cuda::export_memory(*cuda_, memory_);
  return mine;
}

void Gpu::meet(const std::vector<Offered>& all) {
  segments_.resize(all.size());
  for (std::uint32_t peer = 0; peer < all.size(); ++peer) {
    Segment& segment = segments_[peer];
    segment.bytes = all[peer].bytes;
    segment.begin = peer == rank_.id() ? memory_.data() : open_peer(peer, all[peer]);
    if (segment.begin != nullptr) ranges_.push_back({segment.begin, segment.begin + segment.bytes, peer});
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  add_host_memory();
}

/// Null when the engines do not reach it.
std::byte* Gpu::open_peer(std::uint32_t peer, const Offered& offered) {
  if (!options_.direct || rank_.node_of(peer) != rank_.node()) return nullptr;
  auto* const begin = reinterpret_cast<std::byte*>(offered.address);
  if (rank_.placement() == Placement::thread) return begin;
  if (rank_.placement() == Placement::pvas) {
    rank_.local<OfRank>().owned->know({begin, offered.bytes}, offered.device);
    return begin;
  }
  try {
    return engine_.device().open(offered.handle, offered.bytes);
  } catch (const Error&) {
    return nullptr;  // in a container of its own, say: messages reach it
  }
}

/// Segments of this node; of a process's other ranks the driver knows by itself.
void Gpu::add_host_memory() {
  const JobRegion& region = rank_.core().region();
  const auto add = [&](std::uint32_t rank) {
    engine_.streams().reach().add_host({region.segment(rank), region.shape().segment_bytes});
  };
  if (rank_.placement() == Placement::thread) return add(rank_.id());
  for (std::uint32_t rank = 0; rank < region.shape().size; ++rank)
    if (region.is_local(rank)) add(rank);
}

std::uint64_t Gpu::allocate_bytes(std::size_t bytes) {
  constexpr std::uint64_t kAlignment = 256;  // as CUDA's own
  const std::uint64_t offset = heap_.allocate(bytes, kAlignment);
  if (offset != SegmentHeap::kNone) return offset;
  throw Error(Errc::segment_full,
              fmt::format("no room for {} bytes in the segment of rank {} on its GPU ({} of {} bytes in use); open it "
                          "with a larger one (GpuOptions::segment_bytes)",
                          bytes, rank_.id(), heap_.used_bytes(), heap_.capacity_bytes()));
}

/// Null when it lies in none.
const Gpu::Range* Gpu::range_of(const void* address) const noexcept {
  const auto* place = static_cast<const std::byte*>(address);
  if (ranges_.empty() || place < ranges_.front().begin || place >= ranges_.back().end) return nullptr;
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), place,
                                      [](const std::byte* sought, const Range& range) { return sought < range.begin; });
  const bool inside = after != ranges_.begin() && place < std::prev(after)->end;
  return inside ? &*std::prev(after) : nullptr;
}

RemoteAddress Gpu::place_of(const void* address) const noexcept {
  const Range& range = *range_of(address);
  return {static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range.begin), range.rank,
          kSegment + number_};
}

bool Gpu::engines_reach(const std::byte* begin, std::size_t bytes) noexcept {
  return engine_.streams().reads(begin, bytes);
}

std::error_code Gpu::check(const RemoteAddress& place, std::size_t bytes) const noexcept {
  if (place.rank >= segments_.size()) return Errc::no_such_peer;
  const std::uint64_t room = segments_[place.rank].bytes;
  if (place.offset > room || bytes > room - place.offset) return Errc::out_of_segment;
  return {};
}

std::byte* Gpu::reach(const RemoteAddress& place) const noexcept {
  std::byte* begin = segments_[place.rank].begin;
  return begin == nullptr ? nullptr : begin + place.offset;
}

Task<> Gpu::copy(std::span<const StridedCopy> copies) {
  std::string failure;
  try {
    if (copies.size() == 1 && copies[0].bytes() > DeviceBuffer::kBytes) {
      co_await engine_.copy(copies[0]);
    } else {
      // What goes through a buffer once is not worth a place among the patterns.
      const unsigned channel = next_channel_++ % engine_.streams().rules().channels;
      co_await engine_.chain(copies, channel);
    }
  } catch (const Error& error) {
    failure = error.what();
  }
  if (!failure.empty()) throw Error(Errc::device_failed, failure);
}

cuda::PinnedMemory Gpu::pin_buffers() {
  try {
    return cuda::allocate_pinned(api_, kBuffersAtOnce * DeviceBuffer::kBytes);
  } catch (const Error& error) {
    if (error.code() != std::errc::io_error) throw;
    throw Error(Errc::device_failed, error.what());  // it lacks no memory: it is the context that has ended
  }
}

DeviceBuffer Gpu::buffer() {
  if (free_buffers_.empty()) {
    pinned_.push_back(pin_buffers());
    free_buffers_.reserve(pinned_.size() * kBuffersAtOnce);  // so that giving back never fails
    for (std::size_t i = 0; i < kBuffersAtOnce; ++i)
      free_buffers_.push_back(pinned_.back().data() + i * DeviceBuffer::kBytes);
  }
  std::byte* buffer = free_buffers_.back();
  free_buffers_.pop_back();
  return {*this, buffer};
}

Task<Gpu*> Gpu::open(Rank& rank, cuda::CudaApi* api, GpuOptions options) {
  std::exception_ptr failure;
  if (rank.placement() == Placement::pvas) {
    try {
      co_await cuda::OwnerLink::summon(rank.core().region());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  Opening opening = begin(rank, api, options, failure);
  const std::vector<Offered> all = co_await gather_from_all(rank.world(), opening.mine);
  co_return finish(rank, std::move(opening), all);
}

}  // namespace coracle::internals
