// What collectives do about memory of GPUs, which loads and stores do not reach: they refuse it.
#pragma once

#include <span>

#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Whether any of these bytes, which are one member's, lie in a GPU's memory.
bool on_device(const MemoryDomain& devices, std::span<const std::byte> bytes) noexcept;

template <class... Bytes>
bool on_device(const Team& team, const Bytes&... buffers) noexcept {
  const MemoryDomain* devices = team.rank().core().device_memory();
  return devices != nullptr && (on_device(*devices, std::span<const std::byte>(buffers)) || ...);
}

/// Instead of the collective, which is `call`: throws Error (unsupported), and breaks the team, whose other members
/// wait in it.
Task<> refuse_device(Team& team, CollectiveCall call);

}  // namespace coracle::internals
