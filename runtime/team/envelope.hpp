// Envelope: what a tagged message is matched by.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// For receives and probes: a message of any member.
inline constexpr std::uint32_t kAnySource = ~std::uint32_t{0};
/// For receives and probes: a message with any tag. No message has this one.
inline constexpr std::uint64_t kAnyTag = ~std::uint64_t{0};

/// What a message carries, and what a receive asks for (then with kAnySource or kAnyTag).
struct Envelope {
  std::uint32_t team;    ///< Team::identity().
  std::uint32_t source;  ///< The sender's index in the team.
  std::uint64_t tag;
  bool operator==(const Envelope&) const = default;
  /// Team and source in one word, as they travel.
  std::uint64_t place() const noexcept { return std::uint64_t{team} << 32 | source; }
};

/// What has been received, or stands to be.
struct Received {
  std::uint32_t source;  ///< The sender's index in the team.
  std::uint64_t tag;
  std::size_t bytes;
  /// Elements of a type; what is left over does not count.
  template <class T>
  std::size_t count() const noexcept {
    return bytes / sizeof(T);
  }
};

}  // namespace coracle::internals
