// Scratch: memory that a collective needs for itself, or (StagedData) in the place of a GPU's.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Not initialised, aligned for any element.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64}))), bytes_(bytes) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::span<std::byte> span() const noexcept { return {data_.get(), bytes_}; }
  std::span<std::byte> subspan(std::size_t offset, std::size_t bytes) const noexcept {
    return span().subspan(offset, bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_;
};

class MemoryDomain;

/// What a collective takes in the place of a GPU's memory: as much host memory, and the copies to and from it, piece by
/// piece, so that they and the collective go on at the same time. Of one member and one collective, in whose frame it
/// lives. Rank's thread only.
class StagedData {
 public:
  /// `device`: on a GPU of this rank, which has opened one. `landings`: of the copies to it; joined before this dies.
  /// The host memory lies in the rank's segment, which engines reach, where there is room. Throws std::bad_alloc.
  StagedData(Team& team, std::span<std::byte> device, Scope& landings);

  /// As long as what is on the GPU; any content at first.
  std::span<std::byte> host() const noexcept { return host_; }
  /// Copies these bytes from the GPU. Throws Error (device_failed).
  Task<> load(std::size_t offset, std::size_t bytes) {
    return copy(host_.data() + offset, device_.data() + offset, bytes);
  }
  Task<> load_all() { return load(0, host_.size()); }
  /// These bytes are in host() as they will stay: their copy to the GPU begins. No byte twice.
  void arrived(std::size_t offset, std::size_t bytes);
  /// All of host() is there: what has not been copied to the GPU is.
  void all_arrived();

 private:
  Task<> copy(std::byte* target, const std::byte* source, std::size_t bytes);

  MemoryDomain& devices_;
  std::span<std::byte> device_;
  Scope& landings_;
  Slab<std::byte> slab_;
  std::optional<Scratch> scratch_;  // where the segment is full
  std::span<std::byte> host_;
  std::size_t stored_bytes_ = 0;
};

}  // namespace coracle::internals
