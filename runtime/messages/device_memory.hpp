// What messages do with memory of a GPU, which loads and stores do not reach.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/core/task.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/rank/rank_core.hpp"

namespace coracle::internals {

/// There are GPUs, and one of them covers it.
bool is_of_device(const RankCore& core, const std::byte* address) noexcept;

/// Whether it lies in a GPU's memory.
template <class Byte>
bool is_on_device(const RankCore& core, const MessageMemory<Byte>& memory) {
  return core.device_memory() != nullptr && memory.bytes() > 0 && is_of_device(core, memory.lowest());
}

/// Copies a message that is here, by a GPU's engines. All must live until it has ended.
Task<> copy_to_device(RankCore& core, std::span<const std::byte> payload, const MessageTarget& target);

}  // namespace coracle::internals
