// Values: one side of a collective, in the program's memory: where its bytes lie, or how they are packed into a row.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

#include "collectives/data/scratch.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "runtime/messages/message_memory.hpp"

namespace coracle::mpi::collectives {

using internals::MessageMemory;
using internals::MessageSource;
using internals::MessageTarget;
using internals::Scratch;

/// `count` values of a datatype. Keeps the datatype.
template <class Byte>
class Values {
 public:
  using Buffer = std::conditional_t<std::is_const_v<Byte>, const void*, void*>;
  using Scattered = typename MessageMemory<Byte>::Scattered;

  /// None: of a process whose argument does not count.
  Values() noexcept : memory_(std::span<Byte>()) {}
  /// Throws MpiError: see source_of().
  Values(Buffer buffer, Count count, Datatype* datatype)
      : memory_(memory_of(buffer, count, datatype)),
        buffer_(buffer),
        count_(static_cast<std::uint64_t>(count)),
        datatype_(datatype) {}

  std::size_t bytes() const noexcept { return memory_.bytes(); }
  /// Whether they are one run of bytes.
  bool is_plain() const noexcept { return !memory_.is_scattered(); }
  /// Of such.
  std::span<Byte> span() const noexcept { return memory_.span(); }
  const MessageMemory<Byte>& memory() const noexcept { return memory_; }
  /// Of any, but none.
  Scattered scattered() const noexcept { return {buffer_, datatype_->layout(), count_}; }
  /// The same with so many values; this has as many, or more.
  Scattered first(Count count) const noexcept {
    return {buffer_, datatype_->layout(), static_cast<std::uint64_t>(count)};
  }

 private:
  static MessageMemory<Byte> memory_of(Buffer buffer, Count count, const Datatype* datatype) {
    if constexpr (std::is_const_v<Byte>)
      return source_of(buffer, count, datatype);
    else
      return target_of(buffer, count, datatype);
  }

  MessageMemory<Byte> memory_;
  Buffer buffer_ = nullptr;
  std::uint64_t count_ = 0;
  Ref<Datatype> datatype_;
};

using SentValues = Values<const std::byte>;
using ReceivedValues = Values<std::byte>;

/// The same memory, to read from.
inline MessageSource source_in(const MessageTarget& target) {
  if (!target.is_scattered()) return MessageSource(target.span());
  const auto scattered = target.scattered();
  return {scattered.origin, scattered.layout, scattered.count};
}

/// What is sent, in a row: in the program's memory, or packed.
class RowToSend {
 public:
  explicit RowToSend(const MessageSource& source) : bytes_(source.is_scattered() ? packed(source) : source.span()) {}
  std::span<const std::byte> span() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> packed(const MessageSource& source) {
    const std::span<std::byte> room = scratch_.emplace(source.bytes()).span();
    read_part(source, 0, room);
    return room;
  }

  std::optional<Scratch> scratch_;  // before what is made in it
  std::span<const std::byte> bytes_;
};

/// Room for what is received, in a row; store() brings it to where it belongs, if that is elsewhere.
class RowToReceive {
 public:
  explicit RowToReceive(const MessageTarget& target) : target_(target) {
    if (target.is_scattered()) scratch_.emplace(target.bytes());
  }
  std::span<std::byte> span() const noexcept { return scratch_ ? scratch_->span() : target_.span(); }
  void store() const {
    if (scratch_) write_part(target_, 0, scratch_->span());
  }

 private:
  MessageTarget target_;
  std::optional<Scratch> scratch_;
};

}  // namespace coracle::mpi::collectives
