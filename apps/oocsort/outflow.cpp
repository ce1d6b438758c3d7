// A record that crosses the end of a piece is carried over into the next buffer.
#include "apps/oocsort/outflow.hpp"

#include <cstring>
#include <utility>

namespace coracle::oocsort {

Outflow::Outflow(std::size_t record_bytes, std::size_t write_bytes, Write write)
    : record_bytes_(record_bytes), write_bytes_(write_bytes), write_(std::move(write)) {
  for (std::vector<std::byte>& buffer : buffers_) buffer.resize(write_bytes + record_bytes);
  for (Event& free : free_) free.set();
}

Task<std::span<std::byte>> Outflow::room(Scope& scope) {
  while (fill_ >= write_bytes_) co_await advance(scope);
  const std::size_t records = (write_bytes_ - fill_ + record_bytes_ - 1) / record_bytes_;
  std::span<std::byte> free = std::span(buffers_[current_]).subspan(fill_, records * record_bytes_);
  co_return free;
}

Task<> Outflow::advance(Scope& scope) {
  const std::size_t next = (current_ + 1) % kBuffers;
  co_await free_[next];
  std::memcpy(buffers_[next].data(), buffers_[current_].data() + write_bytes_, fill_ - write_bytes_);
  start_write(scope, write_bytes_);
  current_ = next;
  fill_ -= write_bytes_;
}

void Outflow::start_write(Scope& scope, std::size_t bytes) {
  free_[current_].reset();
  scope.spawn(write_piece(current_, offset_, bytes));
  offset_ += bytes;
}

Task<> Outflow::write_piece(std::size_t buffer, std::uint64_t offset, std::size_t bytes) {
  const std::span<const std::byte> piece(buffers_[buffer].data(), bytes);
  co_await write_(offset, piece);
  free_[buffer].set();
}

Task<> Outflow::finish(Scope& scope) {
  while (fill_ > write_bytes_) co_await advance(scope);
  if (fill_ > 0) start_write(scope, fill_);
  fill_ = 0;
  for (Event& free : free_) co_await free;
  current_ = 0;
}

}  // namespace coracle::oocsort
