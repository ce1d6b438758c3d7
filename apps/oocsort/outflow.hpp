// Records that come one after the other, written in pieces of one size, several of which are in flight.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace coracle::oocsort {

/// Must outlive the scope in which its writes run: there, too, goes what they fail with.
class Outflow {
 public:
  /// Writes bytes to an offset; the bytes stay until it has returned.
  using Write = std::function<Task<>(std::uint64_t offset, std::span<const std::byte>)>;
  static constexpr std::size_t kBuffers = 4;

  /// Pieces of `write_bytes`, and less at the end, whether or not that is whole records. Takes kBuffers times as much
  /// memory, and a record more for each.
  Outflow(std::size_t record_bytes, std::size_t write_bytes, Write write);

  /// From here on records go to `offset`. Not while any are left to write.
  void begin(std::uint64_t offset) noexcept { offset_ = offset; }
  /// Where to write the next records: room for one or more. Waits while all buffers are in flight.
  Task<std::span<std::byte>> room(Scope& scope);
  /// So much of it has been written, in whole records.
  void filled(std::size_t bytes) noexcept { fill_ += bytes; }
  /// Writes what is left and waits for all.
  Task<> finish(Scope& scope);

 private:
  Task<> advance(Scope& scope);
  void start_write(Scope& scope, std::size_t bytes);
  Task<> write_piece(std::size_t buffer, std::uint64_t offset, std::size_t bytes);

  std::size_t record_bytes_;
  std::size_t write_bytes_;
  Write write_;
  std::vector<std::byte> buffers_[kBuffers];
  Event free_[kBuffers];  // no write of this buffer is under way
  std::size_t current_ = 0;
  std::size_t fill_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace coracle::oocsort
