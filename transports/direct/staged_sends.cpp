// Taking and giving back of the slots.
#include "transports/direct/staged_sends.hpp"

#include <cstddef>
#include <cstring>

#include "runtime/core/prefetch.hpp"

namespace coracle::internals::direct {

RequestOperation* StagedSends::stage(RequestOperation& request) noexcept {
  std::byte* slot = free_slot();
  if (slot == nullptr) return nullptr;
  if (request.local != slot) std::memcpy(slot, request.local, request.bytes);
  Copy& copy = copy_in(slot).emplace(request);
  copy.local = slot;
  copy.set_owner(this);
  return &copy;
}

void StagedSends::finished(Operation& operation) noexcept {
  const auto* slot = static_cast<const std::byte*>(operation.local);
  // The receiver has read these lines; the next message would have to wait until it has given them up.
  prefetch_for_writing(slot, operation.bytes);
  if (RequestOperation* unsent = static_cast<Copy&>(operation).original; unsent != nullptr) [[unlikely]]
    unsent->finish(operation.outcome());
  copy_in(slot).reset();
}

}  // namespace coracle::internals::direct
