// DeviceTransfers: puts and gets with a GPU's memory at either end. Where the engines reach both ends they copy
// straight from one to the other, also from layout to layout; other host memory goes through pinned buffers, several at
// a time; to peers that are not reached, the bytes go by messages (Exchange), through pinned buffers at either end.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/rank/memory_domain.hpp"

namespace coracle::internals {

class Rank;

/// One rank's, whose GPU `accelerator` is. Its thread only.
class DeviceTransfers final : public MemoryDomain {
 public:
  DeviceTransfers(Rank& rank, Accelerator& accelerator) noexcept : MemoryDomain(accelerator), rank_(rank) {}

  void start(Operation& operation) noexcept override;
  Task<> transfer(Operation::Verb verb, ScatteredTarget local, RemoteAddress origin, const Layout& layout,
                  std::uint64_t count, std::uint64_t bytes) override;
  Task<> copy(ScatteredTarget target, ScatteredSource source, std::uint64_t bytes) override;
  Task<std::uint64_t> pack(ScatteredSource source, std::uint64_t position, std::span<std::byte> packed) override;
  Task<> unpack(std::span<const std::byte> packed, std::uint64_t position, ScatteredTarget target) override;

 private:
  struct Staged;

  Task<> carry_out(Operation& operation);
  std::byte* find(Operation::Verb verb, const RemoteAddress& place, std::size_t bytes);
  Task<> copy_runs(ScatteredTarget target, std::uint64_t target_position, ScatteredSource source,
                   std::uint64_t source_position, std::uint64_t bytes);
  static Task<> stage_all(Scope& scope, Staged& staged);
  static Task<> stage_some(Staged& staged);
  bool engines_reach(const void* origin, const Layout& layout, std::uint64_t count);

  Rank& rank_;
};

}  // namespace coracle::internals
