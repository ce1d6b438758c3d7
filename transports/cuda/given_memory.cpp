#include "transports/cuda/given_memory.hpp"

#include <sys/mman.h>

#include <utility>

namespace coracle::internals::cuda {

Status GivenMemory::allocate(const DeviceCommand& command, std::uint64_t& address) {
  const auto attempt = [&] {
    void* memory = nullptr;
    Status status = api_.use_device(command.device);
    if (status == kSuccess) status = api_.allocate(memory, command.count);
    address = reinterpret_cast<std::uint64_t>(memory);
    return status;
  };
  const Status status = attempt();
  if (status != kOutOfMemory || returned_.empty()) return status;
  end_returned(false);  // all have to wait
  return attempt();
}

/// Ordinary memory that is registered: ranks may look at it also when this process, and the driver's files, are gone.
Status GivenMemory::allocate_pinned(std::size_t bytes, std::uint64_t& address) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  const Status status = api_.register_host(memory, bytes);
  if (status != kSuccess) {
    ::munmap(memory, bytes);
    return status;
  }
  address = reinterpret_cast<std::uint64_t>(memory);
  pinned_[address] = bytes;
  return kSuccess;
}

Status GivenMemory::give_back(const DeviceCommand& command) {
  auto* const memory = reinterpret_cast<void*>(command.address);
  if (command.kind != DeviceCommand::Kind::release_pinned) return api_.release(memory);
  const auto at = pinned_.find(command.address);
  if (at == pinned_.end()) return kInvalidValue;
  const Status status = api_.unregister_host(memory);
  ::munmap(memory, at->second);
  pinned_.erase(at);
  return status;
}

void GivenMemory::end_returned(bool leave) noexcept {
  for (const DeviceCommand& each : std::exchange(returned_, {}))
    if (!leave) (void)give_back(each);
}

}  // namespace coracle::internals::cuda
