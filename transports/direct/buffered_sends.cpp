// Taking and giving back of the buffers.
#include "transports/direct/buffered_sends.hpp"

#include <cstddef>
#include <cstring>

#include "runtime/core/cpu.hpp"

namespace coracle::internals::direct {

RequestOperation* BufferedSends::copy(RequestOperation& request) noexcept {
  std::byte* buffer = free_buffer();
  if (buffer == nullptr) return nullptr;
  if (request.local != buffer) std::memcpy(buffer, request.local, request.bytes);
  Copy& copy = copy_in(buffer).emplace(request);
  copy.local = buffer;
  copy.set_owner(this);
  return &copy;
}

void BufferedSends::finished(Operation& operation) noexcept {
  const auto* buffer = static_cast<const std::byte*>(operation.local);
  // The receiver has read these lines; the next message would have to wait until it has given them up.
  prefetch_for_writing(buffer, operation.bytes);
  if (RequestOperation* unsent = static_cast<Copy&>(operation).original; unsent != nullptr) [[unlikely]]
    unsent->finish(operation.outcome());
  copy_in(buffer).reset();
}

}  // namespace coracle::internals::direct
