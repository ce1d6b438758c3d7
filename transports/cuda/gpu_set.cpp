#include "transports/cuda/gpu_set.hpp"

#include <algorithm>
#include <utility>

#include "runtime/error.hpp"

namespace coracle::internals {

Gpu& GpuSet::add(std::unique_ptr<Gpu> gpu) {
  gpus_.push_back(std::move(gpu));
  rank_.core().set_device_transfers(&transfers_);
  return *gpus_.back();
}

bool GpuSet::covers(const void* address) const noexcept {
  return std::any_of(gpus_.begin(), gpus_.end(), [address](const auto& gpu) { return gpu->covers(address); });
}

RemoteAddress GpuSet::place_of(const void* address) const noexcept {
  const auto found =
      std::find_if(gpus_.begin(), gpus_.end(), [address](const auto& gpu) { return gpu->covers(address); });
  return (*found)->place_of(address);
}

/// What one reaches the others do: the driver knows of it for all of a process's.
bool GpuSet::engines_reach(const std::byte* begin, std::size_t bytes) noexcept {
  return gpus_.front()->engines_reach(begin, bytes);
}

std::error_code GpuSet::check(const RemoteAddress& place, std::size_t bytes) const noexcept {
  const std::uint32_t index = place.segment - kSegment;
  if (index >= gpus_.size()) return Errc::out_of_segment;
  return gpus_[index]->check(place, bytes);
}

std::byte* GpuSet::reach(const RemoteAddress& place) const noexcept {
  return gpus_[place.segment - kSegment]->reach(place);
}

Gpu& GpuSet::gpu_for(const StridedCopy& copy) const noexcept {
  for (const std::byte* end : {copy.source, static_cast<const std::byte*>(copy.target)})
    for (const auto& gpu : gpus_)
      if (gpu->owns(end)) return *gpu;
  return *gpus_.front();
}

Task<> GpuSet::copy(std::span<const StridedCopy> copies) {
  return static_cast<Accelerator&>(gpu_for(copies.front())).copy(copies);
}

DeviceBuffer GpuSet::buffer() {
  return gpus_.front()->buffer();
}

}  // namespace coracle::internals
