// `coracle bench dma --device cuda`: a GPU's copy engines through the DMA engine, beside what plain calls of CUDA reach
// in the same run. The measuring part (gpu.cpp) takes any CudaApi, so that it can be tried on a stand-in. It stands on
// a GpuGround (gpu_ground.cpp): the sizes, memory on all sides with known bytes, plain calls of CUDA, and a copy engine
// for each number of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/bench/measure/contest.hpp"
#include "apps/bench/measure/report.hpp"
#include "runtime/core/event_loop.hpp"
#include "transports/cuda/api.hpp"
#include "transports/cuda/copy_engine.hpp"

namespace coracle::internals::bench {

/// What is measured on a GPU. All sizes in bytes.
struct GpuPlan {
  int device = 0;
  Plan plan;
  std::uint64_t large_bytes = 0;             ///< Of the one copy that gives the limit.
  std::vector<std::uint64_t> sizes;          ///< Of copies over several streams; at most large_bytes.
  std::vector<unsigned> channels;            ///< Streams that a copy may take; the first is 1.
  std::vector<std::uint64_t> latency_sizes;  ///< Of copies by themselves, over one stream.
  std::vector<std::uint64_t> widths;         ///< Of rows that lie at twice that distance.
  std::uint64_t strided_bytes = 0;           ///< Of all rows together.
  std::vector<std::size_t> chain_lengths;    ///< Copies in a table.
  std::vector<std::uint64_t> chain_blocks;   ///< Bytes of each of them.
};

GpuPlan gpu_plan(int device, bool quick);

/// From where to where bytes are copied.
enum class GpuRoute : std::uint8_t {
  to_device,  ///< Pinned memory to the device.
  to_host,
  within,   ///< The device's memory to itself.
  between,  ///< To the next device, where there is one.
};

/// Ends a stream that a std::unique_ptr owns.
struct EndStream {
  cuda::CudaApi* api = nullptr;
  void operator()(cuda::Stream stream) const noexcept { static_cast<void>(api->destroy_stream(stream)); }
};

class GpuGround {
 public:
  /// Room behind whatever is copied, which must stay as it was.
  static constexpr std::uint64_t kGuardBytes = 256;

  /// All three must outlive it. Throws Error: no such device, no memory.
  GpuGround(EventLoop& loop, cuda::CudaApi& api, const GpuPlan& plan);
  GpuGround(const GpuGround&) = delete;
  GpuGround& operator=(const GpuGround&) = delete;

  const GpuPlan& plan() const noexcept { return plan_; }
  std::vector<GpuRoute> routes() const;
  /// "pinned memory to device 0 (name)".
  std::string text_of(GpuRoute route) const;
  const std::byte* source(GpuRoute route) const noexcept;
  std::byte* target(GpuRoute route) const noexcept;

  std::size_t engines() const noexcept { return engines_.size(); }
  /// The one that may take plan().channels[index] streams.
  cuda::CopyEngine& engine(std::size_t index) const noexcept { return *engines_[index]; }
  /// Its streams, "up to 4 streams".
  std::string streams_text(std::size_t index) const;

  /// The limit: one copy of so many bytes on one stream (cudaMemcpyAsync), and waiting for the stream; or asking it
  /// until it is at rest. Throws Error.
  void copy_plainly(GpuRoute route, std::uint64_t bytes);
  void copy_asking(GpuRoute route, std::uint64_t bytes);

  /// `copies` blocks from anywhere in the source, to no regular distances: nothing that could be one copy.
  std::vector<tca::Descriptor> irregular_chain(GpuRoute route, std::size_t copies, std::uint64_t block_bytes) const;

  /// Fills the first `bytes` of a target with what no copy leaves there by chance.
  void poison(GpuRoute route, std::uint64_t bytes);
  /// Of the first `bytes` of a target that were poisoned: whether the chain has put there what it should, and has left
  /// the rest. Throws Error: which byte is wrong.
  void verify(GpuRoute route, tca::Chain chain, std::uint64_t bytes, const std::string& what);

  /// Leaves all memory to the end of the process: a device that failed may still be at it, and releasing it may wait
  /// for ever.
  void abandon() noexcept;

 private:
  void hand_over(GpuRoute route, std::uint64_t bytes);
  void wait(const char* what);
  void move(std::byte* target, const std::byte* source, std::uint64_t bytes);

  cuda::CudaApi& api_;
  const GpuPlan& plan_;
  std::string device_name_;
  int peer_ = -1;  // another device, if there is one
  cuda::PinnedMemory random_;
  cuda::PinnedMemory scratch_;  // target of to_host; poison and what is looked at for the others
  cuda::DeviceMemory near_source_;
  cuda::DeviceMemory near_target_;
  cuda::DeviceMemory far_target_;
  std::unique_ptr<cuda::StreamObject, EndStream> stream_;
  std::vector<std::unique_ptr<cuda::CopyEngine>> engines_;
};

/// How far such a chain reaches in source and target.
std::uint64_t chain_reach(std::size_t copies, std::uint64_t block_bytes) noexcept;

/// The byte of `image` that is not what `chain` should have left there: image[i] is the byte i behind `target`, and
/// was `poison` before; `random[i]` the one i behind `source`. image.size(): all is well.
std::size_t first_wrong(tca::Chain chain, const std::byte* source, std::span<const std::byte> random,
                        const std::byte* target, std::span<const std::byte> image, std::byte poison);

/// The GPU that `--device` names: "cuda" is 0, "cuda:2" 2; none for "peach2", which is the model. Throws
/// WrongUsage for other words.
std::optional<int> gpu_device(const std::string& word);

/// All tables. Each row's bytes are verified once. Throws Error: what the device or the driver refuses, and bytes that
/// are not where they belong.
Report measure_gpu(cuda::CudaApi& api, const GpuPlan& plan);

/// The same by CUDA itself. Throws Error (unsupported) where no GPU can be used: why not, and what to do.
Report measure_real_gpu(int device, bool quick);

}  // namespace coracle::internals::bench
