// StagedData: what a collective takes in the place of a GPU's memory: as much host memory, and the copies to and from
// it, piece by piece, so that they and the collective go on at the same time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "collectives/data/scratch.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class MemoryDomain;

/// Of one member and one collective, in whose frame it lives. Rank's thread only.
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
