// ExchangedValues: small data of a reduction whose result every member combines by itself, all of it or its part: a
// kind of ShortCollective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/data/reduction.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/copy_short.hpp"

namespace coracle::internals {

/// What members have given, as elements: what is contributed inline is aligned to 8 bytes, and some elements want more.
class GivenElements {
 public:
  /// `bytes`: of what each gives.
  GivenElements(std::size_t bytes, const Reduction& reduction) noexcept
      : moves_(bytes <= Contribution::kInlineBytesMax && reduction.element_bytes % 16 == 0) {}
  bool moves() const noexcept { return moves_; }
  /// `given`: of one member, where it lies. Good until the next one is asked for.
  const std::byte* operator()(std::span<const std::byte> given) noexcept {
    if (!moves_) [[likely]]
      return given.data();
    copy_short(given, room_);
    return room_;
  }

 private:
  const bool moves_;
  alignas(64) std::byte room_[Contribution::kInlineBytesMax];
};

/// Members look at each other's values. All combine them from the first to the last, so that all get the same bits.
struct ExchangedValues {
  static constexpr bool kAwaitsAll = true;

  std::span<const std::byte> values;
  std::span<std::byte> result;  ///< May be `values`.
  Reduction reduction;
  std::size_t offset = 0;  ///< In `values`, of what belongs to `result`.

  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  std::span<const std::byte> given() const noexcept { return values; }
  bool take(LocalCollective& local) const {
    GivenElements elements(values.size(), reduction);
    if (elements.moves()) {
      take_moved(local, elements);
      return true;
    }
    const std::byte* sum = values_of(local, 0);
    for (std::uint32_t other = 1; other < local.count(); ++other) {
      reduction.combine(sum, values_of(local, other), result.data(), result.size());
      sum = result.data();
    }
    return true;
  }

 private:
  /// The first two are looked at before the result takes the place of this member's values.
  const std::byte* values_of(LocalCollective& local, std::uint32_t member) const {
    const bool is_own = member == local.local_index() && member < 2;
    return (is_own ? values.data() : local.data_of(member, values.size())) + offset;
  }
  void take_moved(LocalCollective& local, GivenElements& elements) const {
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      const std::span<const std::byte> given(local.data_of(other, values.size()) + offset, result.size());
      if (other == 0)
        copy_short(given, result.data());
      else
        reduction.combine(result.data(), elements(given), result.data(), result.size());
    }
  }
};

}  // namespace coracle::internals
