// Accelerator: what the runtime asks of a rank's GPU: which memory is the GPU's, where its peers' segments on GPUs
// lie, and copies by its engines. Loads and stores do not reach such memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include "runtime/core/task.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/strided_copy.hpp"

namespace coracle::internals {

class Accelerator;

/// Host memory that the engines reach, for bytes on their way; goes back when it dies.
class [[nodiscard]] DeviceBuffer {
 public:
  static constexpr std::size_t kBytes = 64 * 1024;

  DeviceBuffer() = default;
  DeviceBuffer(Accelerator& owner, std::byte* data) noexcept : owner_(&owner), data_(data) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), data_(other.data_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  inline ~DeviceBuffer();

  std::span<std::byte> span() const noexcept { return {data_, kBytes}; }

 private:
  Accelerator* owner_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Interface. Rank's thread only.
class Accelerator {
 public:
  /// RemoteAddress::segment of the segment that each rank has on its GPU; of those on its next ones one more each.
  static constexpr std::uint32_t kSegment = 0x80000000;
  /// GPUs of a rank.
  static constexpr std::uint32_t kGpusMax = 8;
  static bool holds(const RemoteAddress& place) noexcept { return place.segment - kSegment < kGpusMax; }

  virtual ~Accelerator() = default;

  /// Whether `address` lies in memory that loads and stores do not reach: this GPU's, or what is open of a peer's.
  virtual bool covers(const void* address) const noexcept = 0;
  /// The same place for all ranks, of an address that this covers().
  virtual RemoteAddress place_of(const void* address) const noexcept = 0;
  /// Whether the engines read and write these bytes; pins what has been added to them.
  virtual bool engines_reach(const std::byte* begin, std::size_t bytes) noexcept = 0;
  /// Whether `bytes` at `place`, which holds(), are there: empty, or Errc::out_of_segment, Errc::no_such_peer.
  virtual std::error_code check(const RemoteAddress& place, std::size_t bytes) const noexcept = 0;
  /// Where they lie for the engines; null where these do not reach that rank's GPU.
  virtual std::byte* reach(const RemoteAddress& place) const noexcept = 0;
  /// Copies in any order; no two may write to the same bytes. All memory must be what engines_reach(), and at least one
  /// side of each copy a GPU's. `copies` must live until it has ended. Throws Error (device_failed): then the targets
  /// hold any bytes.
  virtual Task<> copy(std::span<const StridedCopy> copies) = 0;
  /// Throws Error when there is no memory for one, or the GPU has failed (device_failed).
  virtual DeviceBuffer buffer() = 0;

 private:
  friend class DeviceBuffer;
  virtual void take_back(std::byte* buffer) noexcept = 0;
};

inline DeviceBuffer::~DeviceBuffer() {
  if (owner_ != nullptr) owner_->take_back(data_);
}

}  // namespace coracle::internals
