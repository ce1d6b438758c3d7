// Taking and giving back of the slots.
#include "transports/direct/staged_sends.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/prefetch.hpp"

namespace coracle::direct {

RequestOperation* StagedSends::stage(RequestOperation& request) noexcept {
  // The first that is free, so that few are used, and those stay warm.
  const auto copy = std::ranges::find_if(copies_, [](const auto& each) { return !each.has_value(); });
  if (copy == copies_.end()) return nullptr;
  std::byte* slot = memory_ + static_cast<std::size_t>(copy - copies_.begin()) * kSlotBytes;
  std::memcpy(slot, request.local, request.bytes);
  copy->emplace(request);
  (*copy)->local = slot;
  (*copy)->set_owner(this);
  return &**copy;
}

void StagedSends::finished(Operation& operation) noexcept {
  const auto* slot = static_cast<const std::byte*>(operation.local);
  // The receiver has read these lines; the next message would have to wait until it has given them up.
  prefetch_for_writing(slot, operation.bytes);
  if (RequestOperation* unsent = static_cast<Copy&>(operation).original; unsent != nullptr) [[unlikely]]
    unsent->finish(operation.outcome());
  copies_[static_cast<std::size_t>(slot - memory_) / kSlotBytes].reset();
}

}  // namespace coracle::direct
