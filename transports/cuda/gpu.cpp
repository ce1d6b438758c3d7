// How ranks find each other's GPUs, and what the engines are given.
#include "transports/cuda/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "runtime/error.hpp"

namespace coracle {
namespace {

/// Buffers are pinned so many at a time.
constexpr std::size_t kBuffersAtOnce = 16;

/// The rank's GPU, once it has been opened; and CUDA, where nobody has given another.
struct OfRank {
  explicit OfRank(Rank&) noexcept {}
  std::unique_ptr<cuda::CudaApi> api;
  std::unique_ptr<Gpu> gpu;
};

int device_of(Rank& rank, cuda::CudaApi& api, int asked) {
  if (asked != GpuOptions::kByRank) return asked;
  int devices = 0;
  if (api.device_count(devices) != cuda::kSuccess || devices == 0) return 0;  // who opens it says why not
  return static_cast<int>(rank.id() - rank.core().region().first_rank()) % devices;
}

cuda::CopyOptions copy_options(Rank& rank, cuda::CudaApi& api, const GpuOptions& options) {
  cuda::CopyOptions copies = options.copies;
  copies.device.device = device_of(rank, api, options.device);
  copies.device.placement = rank.placement();
  return copies;
}

}  // namespace

cuda::CudaApi& Gpu::real_api(Rank& rank) {
  auto& of_rank = rank.local<OfRank>();
  if (!of_rank.api) of_rank.api = cuda::real_api();
  return *of_rank.api;
}

Gpu::Opening Gpu::begin(Rank& rank, cuda::CudaApi* api, const GpuOptions& options) noexcept {
  Opening opening;
  try {
    if (rank.local<OfRank>().gpu)
      throw Error(Errc::bad_input, fmt::format("rank {} has opened its GPU already: once is enough", rank.id()));
    opening.gpu = std::make_unique<Gpu>(rank, api != nullptr ? *api : real_api(rank), options);
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
  opening.gpu->meet(all);
  auto& of_rank = rank.local<OfRank>();
  of_rank.gpu = std::move(opening.gpu);
  return of_rank.gpu.get();
}

Gpu::Gpu(Rank& rank, cuda::CudaApi& api, const GpuOptions& options)
    : rank_(rank),
      api_(api),
      options_(options),
      memory_(),
      engine_(rank.loop(), api, copy_options(rank, api, options)),
      heap_(0, options.segment_bytes),
      transfers_(rank, *this) {
  memory_ = cuda::allocate_on(api, engine_.device().options().device, options.segment_bytes);
}

Gpu::~Gpu() {
  rank_.core().set_device_transfers(nullptr);
}

Gpu::Offered Gpu::offered() {
  Offered mine{true, options_.segment_bytes, reinterpret_cast<std::uint64_t>(memory_.data()), {}};
  if (rank_.placement() == Placement::process && options_.direct) mine.handle = cuda::export_memory(api_, memory_);
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
  lend_host_memory();
  rank_.core().set_device_transfers(&transfers_);
}

/// Null when the engines do not reach it.
std::byte* Gpu::open_peer(std::uint32_t peer, const Offered& offered) {
  if (!options_.direct || rank_.node_of(peer) != rank_.node()) return nullptr;
  if (rank_.placement() == Placement::thread) return reinterpret_cast<std::byte*>(offered.address);
  try {
    return engine_.device().open(offered.handle, offered.bytes);
  } catch (const Error&) {
    return nullptr;  // in a container of its own, say: messages reach it
  }
}

/// Segments of this node; of a process's other ranks the driver knows by itself.
void Gpu::lend_host_memory() {
  const JobRegion& region = rank_.core().region();
  const auto lend = [&](std::uint32_t rank) {
    engine_.device().reach().lend({region.segment(rank), region.shape().segment_bytes});
  };
  if (rank_.placement() == Placement::thread) return lend(rank_.id());
  for (std::uint32_t rank = 0; rank < region.shape().size; ++rank)
    if (region.is_local(rank)) lend(rank);
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
  return {static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - range.begin), range.rank, kSegment};
}

bool Gpu::engines_reach(const std::byte* begin, std::size_t bytes) noexcept {
  return engine_.device().reads(begin, bytes);
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
      const unsigned channel = next_channel_++ % engine_.device().rules().channels;
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

}  // namespace coracle
