// Cases for a CUDA device, on whatever API they are given: the stand-in (cuda_device_test.cpp) or a GPU (gpu_test.cpp).
// They check by doctest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/cuda/cuda_device.hpp"

namespace coracle::internals::test {

/// Counts what a device tells it.
class CountingHost final : public cuda::CudaHost {
 public:
  std::uint64_t now_ns() noexcept override;
  void alarm(std::uint64_t time_ns) noexcept override { alarm_ns = time_ns; }
  void ring() noexcept override { rings.fetch_add(1); }

  std::uint64_t alarm_ns = 0;
  std::atomic<unsigned> rings{0};
};

/// Turns as an event loop would, until the channel's table is over and its stream at rest. Fails after 20 s.
void wait_for(cuda::CudaDevice& device, unsigned channel, std::uint64_t sequence);
/// The same, but not until the stream is at rest.
void wait_for_word(cuda::CudaDevice& device, unsigned channel, std::uint64_t sequence);

/// Bytes that lie in pinned memory, or on a device.
class Area {
 public:
  /// `device` -1: pinned.
  Area(cuda::CudaApi& api, int device, std::size_t bytes);
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  std::byte* data() const noexcept { return memory_.data() != nullptr ? memory_.data() : host_.data(); }
  std::size_t size() const noexcept { return bytes_; }
  void write(std::span<const std::byte> bytes);
  std::vector<std::byte> read();
  cuda::DeviceMemory& memory() noexcept { return memory_; }

 private:
  void carry(void* target, const void* source);

  cuda::CudaApi& api_;
  int device_;
  std::size_t bytes_;
  cuda::DeviceMemory memory_;
  cuda::PinnedMemory host_;
  cuda::Stream stream_ = nullptr;
};

std::vector<std::byte> random_bytes(std::size_t bytes, std::uint64_t seed);

/// Random chains of all shapes between two areas (-1: pinned; else a device), in this way, started again with other
/// bytes; targets are poisoned before, and gaps must stay so.
void random_chains(cuda::CudaApi& api, cuda::TableWay way, int source_device, int target_device, std::uint64_t seed);
/// Tables on all channels at a time.
void all_channels(cuda::CudaApi& api, unsigned channels);
/// A long copy rings, a short one does not.
void rings(cuda::CudaApi& api);
/// Times by the stream's events, and by the host's clock.
void times(cuda::CudaApi& api);
/// Host memory from elsewhere is pinned when it is first used, and only until the device's end.
void segments(cuda::CudaApi& api);
/// Chains and memory that a device refuses, with what it says.
void refusals(cuda::CudaApi& api);

}  // namespace coracle::internals::test
