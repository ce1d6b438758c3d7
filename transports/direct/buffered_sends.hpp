// BufferedSends: copies of short requests in buffers that stay in the sender's cache. The receiver reads a request
// where it lies; when that is a copy, the sender need not wait for it, and lines of the user's own buffer do not change
// hands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/core/cpu.hpp"
#include "runtime/rank/message.hpp"

namespace coracle::internals::direct {

/// Of one rank; its thread only.
class BufferedSends final : public OperationOwner {
 public:
  static constexpr std::size_t kBufferBytes = 8192;
  static constexpr std::size_t kBuffers = 4;
  static constexpr std::size_t kBytes = kBufferBytes * kBuffers;

  /// `memory`: kBytes that peers can read even when this rank has ended.
  explicit BufferedSends(std::byte* memory) noexcept : memory_(memory) {}

  /// The buffer that copy() will take next, for a payload that is made there; null when all are taken.
  std::byte* free_buffer() const noexcept {
    for (std::size_t buffer = 0; buffer < kBuffers; ++buffer)  // the first, so that few are used, and those stay warm
      if (!copies_[buffer]) return memory_ + buffer * kBufferBytes;
    return nullptr;
  }
  /// A copy of `request` with its payload, of at most kBufferBytes, to be sent in its place; null when all buffers are
  /// taken. A payload that lies in free_buffer() is not copied. Its buffer is free again when the copy has finished.
  /// `request` finishes with sent(), or as the copy does when that is never sent.
  RequestOperation* copy(RequestOperation& request) noexcept;
  /// Whether `place` is in a buffer.
  bool contains(const void* place) const noexcept {
    return reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(memory_) < kBytes;
  }
  /// Whether `request` is one of the copies.
  bool has(const RequestOperation& request) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(copies_.data());
    return reinterpret_cast<std::uintptr_t>(&request) - first < sizeof copies_;
  }
  /// The copy is with its receiver: finishes the request that it was made of.
  void sent(RequestOperation& copy) noexcept { std::exchange(static_cast<Copy&>(copy).original, nullptr)->finish(); }

 private:
  struct Copy final : RequestOperation {
    explicit Copy(RequestOperation& request) noexcept
        : RequestOperation(static_cast<std::uint32_t>(request.peer())), original(&request) {
      header = request.header;
      bytes = request.bytes;
    }
    RequestOperation* original;  // null: sent
  };
  void finished(Operation& operation) noexcept override;
  std::optional<Copy>& copy_in(const std::byte* buffer) noexcept {
    return copies_[static_cast<std::size_t>(buffer - memory_) / kBufferBytes];
  }

  std::byte* memory_;
  std::array<std::optional<Copy>, kBuffers> copies_;
};

inline RequestOperation* BufferedSends::copy(RequestOperation& request) noexcept {
  std::byte* buffer = free_buffer();
  if (buffer == nullptr) return nullptr;
  if (request.local != buffer) std::memcpy(buffer, request.local, request.bytes);
  Copy& copy = copy_in(buffer).emplace(request);
  copy.local = buffer;
  copy.set_owner(this);
  return &copy;
}

inline void BufferedSends::finished(Operation& operation) noexcept {
  const auto* buffer = static_cast<const std::byte*>(operation.local);
  // The receiver has read these lines; the next message would have to wait until it has given them up.
  prefetch_for_writing(buffer, operation.bytes);
  if (RequestOperation* unsent = static_cast<Copy&>(operation).original; unsent != nullptr) [[unlikely]]
    unsent->finish(operation.outcome());
  copy_in(buffer).reset();
}

}  // namespace coracle::internals::direct
