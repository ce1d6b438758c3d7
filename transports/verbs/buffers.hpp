// The transport's own registered memory: buffers for messages, and those for payloads that are fetched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "transports/verbs/port.hpp"

namespace coracle::internals::verbs {

/// Zeroed pages, registered for the device's own reading and writing.
class RegisteredBuffer {
 public:
  /// Throws Error when it can't be had or pinned.
  RegisteredBuffer(ibv_pd* domain, std::size_t bytes);
  ~RegisteredBuffer();
  RegisteredBuffer(const RegisteredBuffer&) = delete;
  RegisteredBuffer& operator=(const RegisteredBuffer&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::uint32_t key() const noexcept { return region_->lkey; }

 private:
  std::byte* data_;
  std::size_t bytes_;
  MemoryRegion region_;
};

/// Buffers of equal size, given out by number.
class BufferPool {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  BufferPool(ibv_pd* domain, std::uint32_t count, std::size_t buffer_bytes);

  /// kNone when all are out.
  std::uint32_t take() noexcept {
    if (free_.empty()) return kNone;
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) noexcept { free_.push_back(slot); }  // the room was reserved at the start
  std::byte* data(std::uint32_t slot) const noexcept { return memory_.data() + slot * buffer_bytes_; }
  std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  std::uint32_t key() const noexcept { return memory_.key(); }

 private:
  std::size_t buffer_bytes_;
  RegisteredBuffer memory_;
  std::vector<std::uint32_t> free_;
};

/// Buffers for payloads that come by rendezvous. Some are kept: pinning pages takes longer than filling them.
class ReceiveBuffers {
 public:
  static constexpr std::size_t kKeptBytesMax = std::size_t{32} << 20;

  explicit ReceiveBuffers(ibv_pd* domain) noexcept : domain_(domain) {}
  /// At least `bytes`. Throws Error.
  std::unique_ptr<RegisteredBuffer> take(std::size_t bytes);
  void give_back(std::unique_ptr<RegisteredBuffer> memory);

 private:
  ibv_pd* domain_;
  std::multimap<std::size_t, std::unique_ptr<RegisteredBuffer>> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace coracle::internals::verbs
