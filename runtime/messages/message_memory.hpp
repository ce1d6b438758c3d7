// MessageMemory: what a message is sent from or received into: bytes one after another, or scattered by a layout. All
// positions are those of the packed order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/copy_short.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals {

/// Refers to the memory and to the layout. Made of either, so that one function takes both.
template <class Byte>
class MessageMemory {
 public:
  using Scattered = std::conditional_t<std::is_const_v<Byte>, ScatteredSource, ScatteredTarget>;

  MessageMemory(std::span<Byte> bytes) noexcept : origin_(bytes.data()), bytes_(bytes.size()) {}
  template <class T>
  MessageMemory(std::span<T> elements) : MessageMemory(bytes_of(elements)) {
    static_assert(std::is_trivially_copyable_v<T>, "a message's elements travel as their bytes");
  }
  /// `count` repetitions of `layout` at `origin`.
  MessageMemory(decltype(Scattered::origin) origin, const Layout& layout, std::uint64_t count = 1)
      : MessageMemory(Scattered{origin, layout, count}) {}
  /// Throws Error (bad_input) when it is 2^63 bytes or more. What lies in one piece counts as bytes.
  MessageMemory(const Scattered& scattered)
      : origin_(static_cast<Byte*>(scattered.origin)),
        bytes_(scattered.layout.packed_bytes(scattered.count)),
        layout_(&scattered.layout),
        count_(scattered.count) {
    if (!layout_->is_contiguous() && !(count_ == 1 && layout_->block_count() <= 1)) return;
    origin_ = moved(origin_, layout_->first_byte());
    layout_ = nullptr;
  }

  std::size_t bytes() const noexcept { return bytes_; }
  bool is_scattered() const noexcept { return layout_ != nullptr; }
  /// Of what is not scattered.
  std::span<Byte> span() const noexcept { return {origin_, bytes_}; }
  /// Of what is.
  Scattered scattered() const noexcept { return {origin_, *layout_, count_}; }
  /// Of either; `plain` stands for what is not scattered: as many bytes or more.
  Scattered scattered_or(const Layout& plain) const noexcept {
    return layout_ == nullptr ? Scattered{origin_, plain} : scattered();
  }
  Byte* origin() const noexcept { return origin_; }
  /// The byte at the lowest address. Throws Error (bad_input) when they lie 2^63 bytes or more apart.
  const std::byte* lowest() const {
    return layout_ == nullptr ? origin_ : moved(origin_, layout_->footprint(count_).low);
  }
  /// Stands for the layout; null where there is none.
  const void* form() const noexcept { return layout_ == nullptr ? nullptr : layout_->node(); }
  /// Runs of bytes that it consists of.
  std::uint64_t blocks() const noexcept { return layout_ == nullptr ? 1 : layout_->block_count() * count_; }

 private:
  template <class T>
  static std::span<Byte> bytes_of(std::span<T> elements) {
    if constexpr (std::is_const_v<Byte>)
      return byte_span(elements);
    else
      return writable_byte_span(elements);
  }
  /// Of an origin that may be null, where displacements are addresses (MPI_BOTTOM).
  static Byte* moved(Byte* origin, std::int64_t bytes) noexcept {
    return reinterpret_cast<Byte*>(reinterpret_cast<std::uintptr_t>(origin) + static_cast<std::uintptr_t>(bytes));
  }

  Byte* origin_;
  std::size_t bytes_;
  const Layout* layout_ = nullptr;
  std::uint64_t count_ = 0;
};

using MessageSource = MessageMemory<const std::byte>;
using MessageTarget = MessageMemory<std::byte>;

/// Fills `room` from byte `position` on; there are so many.
inline void read_part(const MessageSource& source, std::uint64_t position, std::span<std::byte> room) {
  if (source.is_scattered())
    pack(source.scattered(), position, room);
  else
    copy_short(source.span().subspan(position, room.size()), room.data());
}

/// Writes `data` at byte `position`; there is room for it.
inline void write_part(const MessageTarget& target, std::uint64_t position, std::span<const std::byte> data) {
  if (target.is_scattered())
    unpack(data, position, target.scattered());
  else
    copy_short(data, target.span().data() + position);
}

/// Copies `bytes` from byte `position` on, which both sides have, without anything between.
inline void copy_part(const MessageTarget& target, const MessageSource& source, std::uint64_t position,
                      std::uint64_t bytes) {
  if (!target.is_scattered())
    read_part(source, position, target.span().subspan(position, bytes));
  else if (!source.is_scattered())
    write_part(target, position, source.span().subspan(position, bytes));
  else
    copy(target.scattered(), source.scattered(), position, bytes);
}

}  // namespace coracle::internals
