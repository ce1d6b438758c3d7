// What a rank asks of a peer whose memory it can't reach: a layout there, as bytes, which the peer trusts no further
// than it has checked them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/job/remote.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals::scattered {

/// The run of memory in which `count` layouts at an origin lie, gaps included.
struct Extent {
  RemoteAddress low;      ///< Where it begins.
  std::uint64_t bytes;    ///< 0: nothing lies there.
  std::int64_t low_from;  ///< Of the origin: what to add to it to get `low`.

  /// Throws Error (bad_input) when bytes lie 2^63 or more apart. An origin may lie outside of its segment, also below
  /// its beginning (as an offset modulo 2^64), if no byte does.
  static Extent of(const RemoteAddress& origin, const Layout& layout, std::uint64_t count);
  /// The origin, for a beginning at `low_address`.
  std::byte* origin(std::byte* low_address) const noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(low_address) -
                                        static_cast<std::uint64_t>(low_from));
  }
};

/// The arguments of the first message of a transfer; its payload is the encoded layout, and of a put the first data
/// behind that.
struct TransferHeader {
  static constexpr std::size_t kWords = 5;

  std::uint64_t serial;  ///< Of the transfer, at who asks.
  RemoteAddress origin;  ///< At who is asked.
  std::uint32_t layout_bytes;
  std::uint64_t count;
  std::uint64_t bytes;  ///< Of the whole transfer, packed.

  std::array<std::uint64_t, kWords> words() const noexcept {
    return {serial, origin.offset, std::uint64_t{origin.segment} << 32 | layout_bytes, count, bytes};
  }
};

/// A header that has come, found consistent in itself. Whether its memory exists is still to be asked.
struct TransferRequest {
  std::uint64_t serial;
  Layout layout;
  std::uint64_t count;
  std::uint64_t bytes;
  Extent extent;
  std::span<const std::byte> data;  ///< At most `bytes`.

  /// `rank`: who is asked. Throws Error (bad_input) for a layout that is none, that is not of as many bytes as the
  /// header says, or whose bytes lie 2^63 or more apart, and for more data than that. Needs memory in proportion to
  /// the payload.
  static TransferRequest read(std::span<const std::uint64_t> words, std::span<const std::byte> payload,
                              std::uint32_t rank);
};

}  // namespace coracle::internals::scattered
