// GpuSet: the GPUs that a rank has opened, as the one accelerator that the runtime knows: it finds out which of them is
// concerned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/job/accelerator.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/scattered/device_transfers.hpp"

namespace coracle::internals {

/// Belongs to its Rank. Rank's thread only. `Device`: a final class with the functions of Accelerator, and with
/// owns(address), whether it lies in this rank's own memory there; so that transfers ask each without a virtual call.
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

}  // namespace coracle::internals
