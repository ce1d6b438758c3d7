// Gpu: a rank's GPU, with a segment of its memory that all ranks reach. Addresses on it can stand wherever put and get,
// with and without layouts, take memory of a rank, on either side:
//
//     Gpu& gpu = *co_await Gpu::open(self, {.segment_bytes = 1 << 30});
//     const DeviceSlab<float> field = gpu.allocate<float>(n);
//     co_await self.put(field.local(), there);  // from this GPU to a peer's memory, or to a peer's GPU
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/assert.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/job/accelerator.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"
#include "transports/cuda/copy_engine.hpp"

namespace coracle::internals {

template <class Device>
class GpuSet;

struct GpuOptions {
  /// By the driver's numbers; kByRank: the rank's place among those of its node, and for each that it has opened before
  /// so many further as the node has ranks, modulo their number.
  static constexpr int kByRank = -1;
  int device = kByRank;
  /// Of the segment on the GPU. The same or another for each rank.
  std::uint64_t segment_bytes = 256 << 20;
  /// False: peers' GPUs of this node are reached by messages only, as those of other nodes; for tests and measurements.
  bool direct = true;
  cuda::CopyOptions copies{};
};

/// Owns `size()` elements in the rank's segment on its GPU, with any content; gives them back when it dies, after which
/// no peer may touch them. It must not outlive the Rank.
template <class T>
class [[nodiscard]] DeviceSlab {
 public:
  DeviceSlab() = default;
  explicit DeviceSlab(Slab<T> slab) noexcept : slab_(std::move(slab)) {}

  /// Addresses on the GPU: for transfers and kernels. The processor must not touch them.
  std::span<T> local() const noexcept { return slab_.local(); }
  Remote<T> remote() const noexcept { return slab_.remote(); }
  T* data() const noexcept { return slab_.data(); }
  std::size_t size() const noexcept { return slab_.size(); }

 private:
  Slab<T> slab_;
};

/// Belongs to its Rank, and lives as long. Rank's thread only.
class Gpu final : private Accelerator {
 public:
  /// Collective: all ranks of the job call it, before any of them uses memory on that GPU; again for a second, up to
  /// kGpusMax (their own segments are told apart by RemoteAddress::segment). Throws Error at all of them when one has
  /// no GPU (there with the reason and the remedy), or no room on it. Not under `sim`. Under `pvas` one process of the
  /// node makes all calls of CUDA, and `api` is not asked: see docs/dma.md. `api` must outlive the rank.
  static Task<Gpu*> open(Rank& rank, GpuOptions options = {}) { return open(rank, nullptr, options); }
  static Task<Gpu*> open(Rank& rank, cuda::CudaApi& api, GpuOptions options = {}) { return open(rank, &api, options); }

  /// For open().
  Gpu(Rank& rank, cuda::CudaApi* api, const GpuOptions& options, unsigned number);
  ~Gpu() override;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// `count` elements with any content. Throws Error (segment_full).
  template <class T>
  DeviceSlab<T> allocate(std::size_t count) {
    const std::uint64_t offset = allocate_bytes(byte_count(count, sizeof(T)));
    const RemoteAddress place{offset, rank_.id(), kSegment + number_};
    return DeviceSlab<T>(Slab<T>(heap_, reinterpret_cast<T*>(memory_.data() + offset), count, Remote<T>(place)));
  }
  /// Of this rank's GPUs, in the order in which they were opened.
  unsigned number() const noexcept { return number_; }
  /// Whether the engines reach that rank's segment on its GPU of this number without messages.
  bool reaches(std::uint32_t rank) const noexcept { return segments_[rank].begin != nullptr; }
  /// By the driver's numbers.
  int device() const noexcept { return copies_.device.device; }
  /// What the driver calls it.
  const std::string& model() noexcept { return engine_.streams().model(); }
  /// Loads code for this GPU, see CudaApi::load_module; to be used by this rank's thread, and ended before the Gpu is.
  /// Throws Error when the code is not for it. Under `pvas` at most cuda::CommandQueues::kKernelsMax of a rank live at
  /// a time.
  cuda::Kernels kernels(const void* code);
  /// Under `pvas` its streams are the owner's: CopyEngine::device() throws.
  cuda::CopyEngine& engine() noexcept { return engine_; }

 private:
  friend class GpuSet<Gpu>;

  /// What ranks tell each other of their segments.
  struct Offered {
    bool works = false;
    unsigned number = 0;
    std::uint64_t bytes = 0;
    std::uint64_t address = 0;
    int device = 0;
    cuda::IpcHandle handle;
  };
  struct Opening {
    std::unique_ptr<Gpu> gpu;
    Offered mine;
    std::exception_ptr failure;
  };
  /// A rank's segment, as seen from here.
  struct Segment {
    std::uint64_t bytes = 0;
    std::byte* begin = nullptr;  // for the engines; null: they do not reach it
  };
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    std::uint32_t rank;
  };

  static Task<Gpu*> open(Rank& rank, cuda::CudaApi* api, GpuOptions options);
  static Opening begin(Rank& rank, cuda::CudaApi* api, const GpuOptions& options,
                       const std::exception_ptr& failure) noexcept;
  static Gpu* finish(Rank& rank, Opening opening, const std::vector<Offered>& all);

  Offered offered();
  void meet(const std::vector<Offered>& all);
  std::byte* open_peer(std::uint32_t peer, const Offered& offered);
  void add_host_memory();
  std::uint64_t allocate_bytes(std::size_t bytes);
  cuda::PinnedMemory pin_buffers();
  const Range* range_of(const void* address) const noexcept;

  bool covers(const void* address) const noexcept override { return range_of(address) != nullptr; }
  RemoteAddress place_of(const void* address) const noexcept override;
  /// Whether it lies in this rank's own segment.
  bool owns(const std::byte* address) const noexcept {
    return address >= memory_.data() && address < memory_.data() + memory_.size();
  }
  bool engines_reach(const std::byte* begin, std::size_t bytes) noexcept override;
  std::error_code check(const RemoteAddress& place, std::size_t bytes) const noexcept override;
  std::byte* reach(const RemoteAddress& place) const noexcept override;
  Task<> copy(std::span<const StridedCopy> copies) override;
  DeviceBuffer buffer() override;
  void take_back(std::byte* buffer) noexcept override { free_buffers_.push_back(buffer); }

  Rank& rank_;
  cuda::CudaApi* const cuda_;  // null: the owner of the node's GPUs makes the calls
  cuda::MemoryApi& api_;
  const GpuOptions options_;
  const unsigned number_;
  const cuda::CopyOptions copies_;
  cuda::DeviceMemory memory_;
  cuda::CopyEngine engine_;
  SegmentHeap heap_;
  std::vector<Segment> segments_;
  std::vector<Range> ranges_;  // of segments that are reached, by their beginnings
  std::vector<cuda::PinnedMemory> pinned_;
  std::vector<std::byte*> free_buffers_;
  unsigned next_channel_ = 0;
};

}  // namespace coracle::internals
