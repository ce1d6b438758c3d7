// GpuSet: the GPUs that a rank has opened, as the one accelerator that the runtime knows: it finds out which of them is
// concerned.
#pragma once

#include <memory>
#include <vector>

#include "transports/cuda/gpu.hpp"

namespace coracle::internals {

/// Belongs to its Rank. Rank's thread only.
class GpuSet final : public Accelerator {
 public:
  explicit GpuSet(Rank& rank) noexcept : rank_(rank), transfers_(rank, *this) {}
  ~GpuSet() { rank_.core().set_device_transfers(nullptr); }
  GpuSet(const GpuSet&) = delete;
  GpuSet& operator=(const GpuSet&) = delete;

  /// The number of the next.
  unsigned size() const noexcept { return static_cast<unsigned>(gpus_.size()); }
  Gpu& add(std::unique_ptr<Gpu> gpu);

  bool covers(const void* address) const noexcept override;
  RemoteAddress place_of(const void* address) const noexcept override;
  bool engines_reach(const std::byte* begin, std::size_t bytes) noexcept override;
  std::error_code check(const RemoteAddress& place, std::size_t bytes) const noexcept override;
  std::byte* reach(const RemoteAddress& place) const noexcept override;
  /// By the GPU whose own memory is read, or written; by the first, where none is.
  Task<> copy(std::span<const StridedCopy> copies) override;
  DeviceBuffer buffer() override;

 private:
  /// Buffers go back to the GPU that has given them.
  void take_back(std::byte*) noexcept override {}
  Gpu& gpu_for(const StridedCopy& copy) const noexcept;

  Rank& rank_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  DeviceTransfers transfers_;
};

}  // namespace coracle::internals
