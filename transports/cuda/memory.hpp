// Memory that GPUs' engines reach: of a device, pinned, registered, or another process's device memory. Each ends with
// the object that owns it.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "transports/cuda/api.hpp"

namespace coracle::internals::cuda {

/// Address and length of memory that ends by a function of the API. Movable; empty when moved from.
template <class Api, Status (Api::*End)(void*) noexcept>
class Held {
 public:
  Held() = default;
  Held(Api& api, void* memory, std::size_t bytes) noexcept
      : api_(&api), memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}
  Held(Held&& other) noexcept
      : api_(other.api_), memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    // After an error of the device this fails too; the memory went with the device.
    if (memory_ != nullptr) (void)(api_->*End)(memory_);
  }

  std::byte* data() const noexcept { return memory_; }
  std::size_t size() const noexcept { return bytes_; }
  std::span<std::byte> span() const noexcept { return {memory_, bytes_}; }
  /// Leaves the memory to the end of the process: a device may still write there.
  void abandon() noexcept { memory_ = nullptr; }

 private:
  Api* api_ = nullptr;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory of a device: the host must not touch it. Its end waits for the device's work.
using DeviceMemory = Held<MemoryApi, &MemoryApi::release>;
/// Host memory from CUDA, which no kernel may move or swap out.
using PinnedMemory = Held<MemoryApi, &MemoryApi::release_pinned>;
/// Host memory from elsewhere, pinned for as long as this lives; it must outlive this.
using Registration = Held<MemoryApi, &MemoryApi::unregister_host>;
/// Device memory of another process of this node.
using PeerMemory = Held<CudaApi, &CudaApi::close_memory>;

/// All throw Error: how much, on which device, why not and what to do.
DeviceMemory allocate_on(MemoryApi& api, int device, std::size_t bytes);
PinnedMemory allocate_pinned(MemoryApi& api, std::size_t bytes);
/// Whole pages, anonymous or of a memfd. Empty where somebody has registered it already.
Registration register_host(MemoryApi& api, std::span<std::byte> memory);
/// To be opened by another process: `memory` must be all of an allocation.
IpcHandle export_memory(CudaApi& api, const DeviceMemory& memory);
/// `device`: on which it will be used.
PeerMemory open_memory(CudaApi& api, int device, const IpcHandle& handle, std::size_t bytes);

/// Where bytes lie, for a copy.
struct MemoryLocation {
  MemoryKind kind = MemoryKind::unknown;
  int device = -1;
  bool reached() const noexcept { return kind != MemoryKind::unknown; }
};

/// Which memory the copy engines get at, and on which device it lies: what they were told of, and beyond that what the
/// driver knows. One thread.
class Reach {
 public:
  explicit Reach(MemoryApi& api) noexcept : api_(api) {}

  /// Host memory, such as a rank's segment, that is pinned when it is first needed, and for as long as this lives. It
  /// must outlive this. Pieces must not overlap.
  void add_host(std::span<std::byte> memory);
  /// Device memory that is known to lie there.
  void add(std::span<std::byte> memory, int device);

  /// Leaves what was pinned so until the process ends: a device may still write there.
  void abandon() noexcept;

  /// Where all these bytes lie; unknown where they are nowhere, or in two places. Pins what was added.
  MemoryLocation location_of(const std::byte* begin, std::size_t bytes) noexcept;
  /// Why host memory could not be pinned, or "".
  const std::string& refusal() const noexcept { return refusal_; }

 private:
  struct Range {
    std::size_t bytes;
    MemoryLocation location;
    bool waits = false;    // to be pinned
    bool refused = false;  // the driver wouldn't
    Registration registration;
  };

  void pin(const std::byte* begin, Range& range) noexcept;

  MemoryApi& api_;
  std::map<const std::byte*, Range> ranges_;
  std::string refusal_;
};

}  // namespace coracle::internals::cuda
