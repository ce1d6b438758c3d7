// Pages that the transport itself has registered.
#include "transports/verbs/buffers.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <numeric>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::verbs {

RegisteredBuffer::RegisteredBuffer(ibv_pd* domain, std::size_t bytes) : bytes_(bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw_errno(errno, fmt::format("verbs: no memory for {} bytes of buffers", bytes));
  data_ = static_cast<std::byte*>(pages);
  constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;  // an int, as the macro would have it
  region_.reset(ibv_reg_mr(domain, pages, bytes, kAccess));
  if (region_) return;
  const int error = errno;
  ::munmap(pages, bytes);
  throw_errno(error, fmt::format("verbs: {} bytes of buffers can't be pinned for the device; raise the limit of locked "
                                 "memory (`ulimit -l unlimited`, or LimitMEMLOCK=infinity of the service)",
                                 bytes));
}

RegisteredBuffer::~RegisteredBuffer() {
  region_.reset();
  ::munmap(data_, bytes_);
}

BufferPool::BufferPool(ibv_pd* domain, std::uint32_t count, std::size_t buffer_bytes)
    : buffer_bytes_(buffer_bytes), memory_(domain, count * buffer_bytes), free_(count) {
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

std::unique_ptr<RegisteredBuffer> ReceiveBuffers::take(std::size_t bytes) {
  const auto found = kept_.lower_bound(bytes);
  // One far too large is left for what needs it.
  if (found == kept_.end() || found->first > 4 * std::bit_ceil(bytes))
    return std::make_unique<RegisteredBuffer>(domain_, std::bit_ceil(std::max<std::size_t>(bytes, 65536)));
  auto memory = std::move(found->second);
  kept_bytes_ -= memory->bytes();
  kept_.erase(found);
  return memory;
}

void ReceiveBuffers::give_back(std::unique_ptr<RegisteredBuffer> memory) {
  if (kept_bytes_ + memory->bytes() > kKeptBytesMax) return;
  kept_bytes_ += memory->bytes();
  kept_.emplace(memory->bytes(), std::move(memory));
}

}  // namespace coracle::internals::verbs
