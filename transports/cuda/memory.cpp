#include "transports/cuda/memory.hpp"

#include <fmt/format.h>

#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {

DeviceMemory allocate_on(MemoryApi& api, int device, std::size_t bytes) {
  void* memory = nullptr;
  Status status = api.use_device(device);
  if (status == kSuccess) status = api.allocate(memory, bytes);
  if (status != kSuccess) throw_status(api, status, fmt::format("cuda: {} bytes on device {}", bytes, device));
  return {api, memory, bytes};
}

PinnedMemory allocate_pinned(MemoryApi& api, std::size_t bytes) {
  void* memory = nullptr;
  const Status status = api.allocate_pinned(memory, bytes);
  if (status != kSuccess) throw_status(api, status, fmt::format("cuda: {} bytes of pinned host memory", bytes));
  return {api, memory, bytes};
}

Registration register_host(MemoryApi& api, std::span<std::byte> memory) {
  const Status status = api.register_host(memory.data(), memory.size());
  if (status == kHostAlreadyRegistered) return {};
  if (status != kSuccess)
    throw_status(
        api, status,
        fmt::format("cuda: pinning {} bytes of host memory at {} (anonymous memory, memfds and huge pages can be, "
                    "mapped files can't)",
                    memory.size(), fmt::ptr(memory.data())));
  return {api, memory.data(), memory.size()};
}

IpcHandle export_memory(CudaApi& api, const DeviceMemory& memory) {
  IpcHandle handle;
  const Status status = api.export_memory(handle, memory.data());
  if (status != kSuccess)
    throw_status(
        api, status,
        fmt::format("cuda: lending {} bytes of device memory to other processes (containers need --ipc=host and "
                    "the same devices)",
                    memory.size()));
  return handle;
}

PeerMemory open_memory(CudaApi& api, int device, const IpcHandle& handle, std::size_t bytes) {
  void* memory = nullptr;
  Status status = api.use_device(device);
  if (status == kSuccess) status = api.open_memory(memory, handle);
  if (status != kSuccess)
    throw_status(api, status,
                 fmt::format("cuda: opening {} bytes of another process's device memory on device {}", bytes, device));
  return {api, memory, bytes};
}

}  // namespace coracle::internals::cuda
