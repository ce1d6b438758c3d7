#include "storage/pages/last_copy_hint.hpp"

namespace coracle::internals::storage {
namespace {

constexpr int kKindAt = 32;
constexpr int kChancesAt = 40;
constexpr int kAskedAt = 48;

}  // namespace

LastCopyHint::Words LastCopyHint::words(std::uint32_t segment) const noexcept {
  return {segment | std::uint64_t{static_cast<std::uint8_t>(kind)} << kKindAt | std::uint64_t{chances} << kChancesAt |
              std::uint64_t{asked} << kAskedAt,
          page, std::uint64_t{from} << 32 | leaves};
}

std::optional<LastCopyHint> LastCopyHint::of(const Words& words, std::uint64_t pages, std::size_t nodes) noexcept {
  const auto kind = words.kind >> kKindAt & 0xff;
  LastCopyHint hint;
  hint.kind = static_cast<Kind>(kind);
  hint.chances = static_cast<std::uint8_t>(words.kind >> kChancesAt);
  hint.asked = static_cast<std::uint8_t>(words.kind >> kAskedAt);
  hint.page = words.page;
  hint.from = static_cast<CacheId>(words.nodes >> 32);
  hint.leaves = static_cast<CacheId>(words.nodes);
  const bool fits = kind < kKinds && hint.page < pages && hint.from < nodes && hint.leaves < nodes &&
                    hint.chances > 0 && hint.chances <= kChancesMax;
  return fits ? std::optional(hint) : std::nullopt;
}

}  // namespace coracle::internals::storage
