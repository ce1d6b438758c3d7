// LastCopyHint: what caches and homes tell each other about a page that is to leave a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "storage/protocol/protocol.hpp"

namespace coracle::internals::storage {

struct LastCopyHint {
  /// leaving: from the cache to the page's home. asked: from the home to a cache that may take it in. That one's
  /// answers: declined; taken, it has taken the page in; had, it has it anyway. The home passes these two on to the
  /// cache that the page is to leave, or says refused: nobody is idle.
  enum class Kind : std::uint8_t { leaving, asked, declined, taken, had, refused };
  static constexpr std::size_t kKinds = 6;
  static constexpr std::uint32_t kChancesMax = 15;

  Kind kind = Kind::leaving;
  std::uint8_t chances = 0;  ///< How often it may still be handed on, this time included.
  std::uint8_t asked = 0;    ///< How many caches were asked.
  std::uint64_t page = 0;
  CacheId leaves = kNoCache;  ///< Which cache.
  CacheId from = kNoCache;

  static constexpr std::size_t kWords = 3;
  struct Words {
    std::uint64_t kind;
    std::uint64_t page;
    std::uint64_t nodes;
  };
  Words words(std::uint32_t segment) const noexcept;
  static std::uint32_t segment_of(std::uint64_t kind) noexcept { return static_cast<std::uint32_t>(kind); }
  /// Of what came from a peer; nothing where no cache of a segment of so many `pages` and `nodes` can have sent it.
  static std::optional<LastCopyHint> of(const Words& words, std::uint64_t pages, std::size_t nodes) noexcept;
};

}  // namespace coracle::internals::storage
