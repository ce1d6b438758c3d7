#include "transports/cuda/memory.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "runtime/core/error.hpp"
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

void Reach::add_host(std::span<std::byte> memory) {
  ranges_[memory.data()] = {memory.size(), {MemoryKind::host, -1}, true, false, {}};
}

void Reach::add(std::span<std::byte> memory, int device) {
  ranges_[memory.data()] = {memory.size(), {MemoryKind::device, device}, false, false, {}};
}

void Reach::abandon() noexcept {
  for (auto& [begin, range] : ranges_) range.registration.abandon();
}

void Reach::pin(const std::byte* begin, Range& range) noexcept {
  range.waits = false;
  try {
    range.registration = register_host(api_, {const_cast<std::byte*>(begin), range.bytes});
  } catch (const Error& error) {
    range.refused = true;
    refusal_ = error.what();
  }
}

MemoryLocation Reach::location_of(const std::byte* begin, std::size_t bytes) noexcept {
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin()) {
    at = std::prev(at);
    Range& range = at->second;
    const auto offset = static_cast<std::size_t>(begin - at->first);
    if (offset < range.bytes) {
      if (bytes > range.bytes - offset) return {};
      if (range.waits) pin(at->first, range);
      return range.refused ? MemoryLocation{} : range.location;
    }
  }
  // Memory that others have allocated or registered; both ends, since the driver tells only of single addresses.
  PointerInfo first;
  PointerInfo last;
  if (api_.pointer_info(begin, first) != kSuccess || api_.pointer_info(begin + bytes - 1, last) != kSuccess) return {};
  if (first.kind != last.kind || (first.kind == MemoryKind::device && first.device != last.device)) return {};
  return {first.kind, first.kind == MemoryKind::device ? first.device : -1};
}

}  // namespace coracle::internals::cuda
