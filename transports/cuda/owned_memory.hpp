// OwnedMemory: GPUs' memory as the process that owns the GPUs gives it to a rank. What concerns streams and code the
// rank leaves to its OwnedDevice.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "transports/cuda/owner_link.hpp"

namespace coracle::internals::cuda {

/// Rank's thread only. When the owner is gone all calls fail with kOwnerGone.
class OwnedMemory final : public MemoryApi {
 public:
  explicit OwnedMemory(OwnerLink& link) noexcept : link_(link) {}

  /// A peer's memory on a GPU, which the owner has given to it: for pointer_info().
  void know(std::span<std::byte> memory, int device) {
    given_[memory.data()] = {memory.size(), {MemoryKind::device, device}};
  }

  const char* error_name(Status status) const noexcept override;
  const char* error_text(Status status) const noexcept override;
  Status device_count(int& count) noexcept override;
  Status use_device(int device) noexcept override;
  Status allocate(void*& memory, std::size_t bytes) noexcept override;
  Status release(void* memory) noexcept override;
  Status allocate_pinned(void*& memory, std::size_t bytes) noexcept override;
  Status release_pinned(void* memory) noexcept override;
  /// For all ranks, until the owner ends: others use it by then.
  Status register_host(void* begin, std::size_t bytes) noexcept override;
  Status unregister_host(void*) noexcept override { return kSuccess; }
  /// Of what this rank has allocated, or knows of.
  Status pointer_info(const void* pointer, PointerInfo& info) noexcept override;

 private:
  struct Given {
    std::size_t bytes;
    PointerInfo info;
  };

  Status call(const DeviceCommand& command, std::uint64_t& value) noexcept;
  Status take(const DeviceCommand& command, void*& memory, const PointerInfo& info) noexcept;
  Status give_back(DeviceCommand::Kind kind, void* memory) noexcept;

  OwnerLink& link_;
  int device_ = 0;
  std::map<const std::byte*, Given> given_;
  std::map<Status, std::pair<std::string, std::string>> names_;  // of what has been answered
  std::string gone_;
};

}  // namespace coracle::internals::cuda
