// RawReads: what a plain program reads from a file by io_uring and O_DIRECT. The limit for pages that are not cached.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals::bench {

/// Memory of huge pages where the kernel gives them, touched once.
class HugeBuffer {
 public:
  /// Throws Error.
  explicit HugeBuffer(std::size_t bytes);
  ~HugeBuffer();
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;
  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* mapped_;
  std::size_t mapped_bytes_;
  std::byte* data_;
};

class RawReads {
 public:
  /// For `depth` reads of `bytes` at a time. Throws Error where the file or io_uring can't be had.
  RawReads(const std::string& file, std::size_t bytes, unsigned depth);
  ~RawReads();
  RawReads(const RawReads&) = delete;
  RawReads& operator=(const RawReads&) = delete;

  /// Of whole blocks of `bytes` in the file.
  std::uint64_t blocks() const noexcept { return blocks_; }
  /// `count` blocks, whose numbers `next` gives; as many as `depth` are under way. Throws Error.
  void read(std::uint64_t count, const std::function<std::uint64_t()>& next);

 private:
  void ask(std::uint64_t block, unsigned place);

  FileDescriptor fd_;
  io_uring ring_{};
  std::size_t bytes_;
  unsigned depth_;
  std::uint64_t blocks_ = 0;
  HugeBuffer buffer_;
};

}  // namespace coracle::internals::bench
