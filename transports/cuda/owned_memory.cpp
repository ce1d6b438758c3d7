#include "transports/cuda/owned_device.hpp"

#include <iterator>

#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {

const char* OwnedMemory::error_name(Status status) const noexcept {
  if (status == kOwnerGone) return "the owner of the GPUs is gone";
  const auto at = names_.find(status);
  return at == names_.end() ? "an error of CUDA" : at->second.first.c_str();
}

const char* OwnedMemory::error_text(Status status) const noexcept {
  if (status == kOwnerGone) return gone_.c_str();
  const auto at = names_.find(status);
  return at == names_.end() ? "not a call for ranks that share one address space" : at->second.second.c_str();
}

Status OwnedMemory::call(const DeviceCommand& command, std::uint64_t& value) noexcept {
  try {
    const Answer& answer = link_.call(command);
    value = answer.value;
    if (answer.status != kSuccess) names_[answer.status] = {answer.name.data(), answer.status_text.data()};
    return answer.status;
  } catch (const Error& error) {
    gone_ = error.what();
    return kOwnerGone;
  }
}

Status OwnedMemory::take(const DeviceCommand& command, void*& memory, const PointerInfo& info) noexcept {
  std::uint64_t address = 0;
  const Status status = call(command, address);
  if (status != kSuccess) return status;
  memory = reinterpret_cast<void*>(address);
  given_[static_cast<std::byte*>(memory)] = {command.count, info};
  return kSuccess;
}

Status OwnedMemory::give_back(DeviceCommand::Kind kind, void* memory) noexcept {
  given_.erase(static_cast<std::byte*>(memory));
  std::uint64_t nothing = 0;
  return call({.kind = kind, .address = reinterpret_cast<std::uint64_t>(memory)}, nothing);
}

Status OwnedMemory::device_count(int& count) noexcept {
  std::uint64_t value = 0;
  const Status status = call({.kind = DeviceCommand::Kind::count_devices}, value);
  count = static_cast<int>(value);
  return status;
}

Status OwnedMemory::use_device(int device) noexcept {
  device_ = device;
  return kSuccess;
}

Status OwnedMemory::allocate(void*& memory, std::size_t bytes) noexcept {
  return take({.kind = DeviceCommand::Kind::allocate, .device = device_, .count = bytes}, memory,
              {MemoryKind::device, device_});
}

Status OwnedMemory::release(void* memory) noexcept {
  return give_back(DeviceCommand::Kind::release, memory);
}

Status OwnedMemory::allocate_pinned(void*& memory, std::size_t bytes) noexcept {
  return take({.kind = DeviceCommand::Kind::allocate_pinned, .count = bytes}, memory, {MemoryKind::host, -1});
}

Status OwnedMemory::release_pinned(void* memory) noexcept {
  return give_back(DeviceCommand::Kind::release_pinned, memory);
}

Status OwnedMemory::register_host(void* begin, std::size_t bytes) noexcept {
  std::uint64_t nothing = 0;
  return call(
      {.kind = DeviceCommand::Kind::register_host, .address = reinterpret_cast<std::uint64_t>(begin), .count = bytes},
      nothing);
}

Status OwnedMemory::pointer_info(const void* pointer, PointerInfo& info) noexcept {
  info = {};
  const auto* place = static_cast<const std::byte*>(pointer);
  auto at = given_.upper_bound(place);
  if (at == given_.begin()) return kSuccess;
  --at;
  if (static_cast<std::size_t>(place - at->first) < at->second.bytes) info = at->second.info;
  return kSuccess;
}

}  // namespace coracle::internals::cuda
