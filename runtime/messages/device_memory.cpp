// By the GPUs that the rank has opened.
#include "runtime/messages/device_memory.hpp"

#include <cstdint>

#include "runtime/rank/memory_domain.hpp"

namespace coracle::internals {

bool is_of_device(const RankCore& core, const std::byte* address) noexcept {
  return core.device_memory()->covers(address);
}

Task<> copy_to_device(RankCore& core, std::span<const std::byte> payload, const MessageTarget& target) {
  const Layout source = Layout::bytes(static_cast<std::int64_t>(payload.size()));
  const Layout plain = Layout::bytes(static_cast<std::int64_t>(target.bytes()));
  const ScatteredTarget to = target.scattered_or(plain);
  const ScatteredSource from{payload.data(), source};
  co_await core.device_memory()->copy(to, from, payload.size());
}

}  // namespace coracle::internals
