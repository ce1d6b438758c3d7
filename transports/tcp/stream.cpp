// Pieces and chunks.
#include "transports/tcp/stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/thread_sanitizer.hpp"

namespace coracle::internals::tcp {

void Outbox::copy(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (last_chunk_used_ == Chunk::kBytes) {
      chunks_.push_back(spare_ ? std::move(spare_) : std::make_unique<Chunk>());
      last_chunk_used_ = 0;
    }
    std::byte* place = chunks_.back()->bytes.data() + last_chunk_used_;
    const std::size_t count = std::min(bytes.size(), Chunk::kBytes - last_chunk_used_);
    std::memcpy(place, bytes.data(), count);
    bytes = bytes.subspan(count);
    last_chunk_used_ += count;
    copied_bytes_ += count;
    unsent_bytes_ += count;
    Piece* last = pieces_.empty() ? nullptr : &pieces_.back();
    if (last != nullptr && !last->referred && last->data + last->bytes == place) {
      if (last->sent_bytes == last->bytes) first_unsent_ = pieces_.size() - 1;
      last->bytes += count;
    } else {
      pieces_.push_back({place, count, 0, 0, nullptr, false});
    }
  }
  given_to_kernel();
}

void Outbox::refer(std::span<const std::byte> bytes, Operation* operation) {
  pieces_.push_back({bytes.data(), bytes.size(), 0, 0, operation, true});
  unsent_bytes_ += bytes.size();
  given_to_kernel();
}

Outbox::Gathered Outbox::gather(std::span<iovec> vectors, std::size_t bytes_max) const noexcept {
  Gathered gathered;
  for (std::size_t i = first_unsent_; i < pieces_.size(); ++i) {
    if (gathered.count == vectors.size() || gathered.bytes >= bytes_max) break;
    const Piece& piece = pieces_[i];
    const std::size_t bytes = std::min(piece.bytes - piece.sent_bytes, bytes_max - gathered.bytes);
    vectors[gathered.count++] = {const_cast<std::byte*>(piece.data + piece.sent_bytes), bytes};
    gathered.bytes += bytes;
    if (piece.referred) gathered.referred_bytes += bytes;
  }
  return gathered;
}

void Outbox::sent(std::size_t bytes) noexcept {
  unsent_bytes_ -= bytes;
  while (bytes > 0) {
    Piece& piece = pieces_[first_unsent_];
    const std::size_t count = std::min(bytes, piece.bytes - piece.sent_bytes);
    piece.sent_bytes += count;
    bytes -= count;
    if (piece.sent_bytes == piece.bytes) ++first_unsent_;
  }
}

void Outbox::release(std::size_t bytes) noexcept {
  while (bytes > 0) {
    Piece& piece = pieces_.front();
    const std::size_t count = std::min(bytes, piece.bytes - piece.released_bytes);
    piece.released_bytes += count;
    bytes -= count;
    if (!piece.referred) {
      copied_bytes_ -= count;
      first_chunk_released_ += count;
      if (first_chunk_released_ == Chunk::kBytes) {
        spare_ = std::move(chunks_.front());
        chunks_.pop_front();
        first_chunk_released_ = 0;
      }
    }
    if (piece.released_bytes < piece.bytes) continue;
    Operation* operation = piece.operation;
    pieces_.pop_front();
    --first_unsent_;
    if (operation != nullptr) operation->finish();
  }
  if (!pieces_.empty() || chunks_.empty()) return;
  // All is released: the chunk begins anew.
  if (!spare_) spare_ = std::move(chunks_.front());
  while (!chunks_.empty()) chunks_.pop_front();
  last_chunk_used_ = Chunk::kBytes;
  first_chunk_released_ = 0;
}

void Outbox::drop(std::error_code outcome) noexcept {
  RingQueue<Piece> pieces = std::exchange(pieces_, {});
  chunks_ = {};
  first_unsent_ = unsent_bytes_ = copied_bytes_ = first_chunk_released_ = 0;
  last_chunk_used_ = Chunk::kBytes;
  for (; !pieces.empty(); pieces.pop_front())
    if (pieces.front().operation != nullptr) pieces.front().operation->finish(outcome);
}

}  // namespace coracle::internals::tcp
