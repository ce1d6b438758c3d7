// ReadyToSend: what travels of a message that stays with its sender until it is received.
#pragma once

#include <cstdint>

namespace coracle::internals {

class SharedCopy;

struct ReadyToSend {
  static constexpr std::uint32_t kHost = ~std::uint32_t{0};

  std::uint64_t bytes = 0;
  std::uint64_t serial = 0;      ///< The sender's number for it.
  std::uint64_t address = 0;     ///< In the sender's memory: of its bytes, or of a layout's origin. On a GPU: the
                                 ///< offset in a segment there.
  SharedCopy* shared = nullptr;  ///< At the sender, where its memory is plain memory here.
  // Of what is scattered, where the memory is not:
  std::uint64_t count = 0;           ///< Repetitions of the layout; 0: it lies in one piece.
  std::uint64_t layout_address = 0;  ///< Of the layout, encoded.
  std::uint32_t layout_bytes = 0;    ///< 0: the sender gives none away; it sends pieces.
  std::uint32_t device_of = kHost;   ///< The rank on whose GPU it lies; kHost: on none.
  std::uint32_t device_segment = 0;  ///< See RemoteAddress::segment.

  bool on_device() const noexcept { return device_of != kHost; }
};

}  // namespace coracle::internals
