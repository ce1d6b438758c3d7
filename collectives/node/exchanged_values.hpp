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

/// Members look at each other's values. All combine them from the first to the last, so that all get the same bits. Who
/// gets nothing waits for nobody.
struct ExchangedValues {
  static constexpr bool kAwaitsAll = false;

  std::span<const std::byte> values;
  std::span<std::byte> result;  ///< May be `values`.
  Reduction reduction;
  std::size_t offset = 0;  ///< In `values`, of what belongs to `result`.

  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  std::span<const std::byte> given() const noexcept { return values; }
  bool awaits_all(LocalCollective& /*local*/) const noexcept { return !result.empty() || values.empty(); }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept {
    return other != local.local_index() && awaits_all(local);
  }
  bool take(LocalCollective& local) const {
    if (!awaits_all(local)) return true;
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

/// Two members give each other the values of the other's block, and each combines its own. Who gets nothing waits for
/// nobody.
struct ExchangedBlock {
  static constexpr bool kAwaitsAll = false;

  std::span<const std::byte> others;  ///< Values of the other's block,
  std::span<const std::byte> own;     ///< and of this member's.
  std::span<std::byte> result;
  Reduction reduction;

  bool gives(LocalCollective& /*local*/) const noexcept { return !others.empty(); }
  std::span<const std::byte> given() const noexcept { return others; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept {
    return other != local.local_index() && !result.empty();
  }
  bool take(LocalCollective& local) const {
    if (result.empty()) return true;
    const std::uint32_t other = 1 - local.local_index();
    GivenElements elements(own.size(), reduction);
    const std::byte* const theirs = elements({local.data_of(other, own.size()), own.size()});
    reduction.combine(other == 0 ? theirs : own.data(), other == 0 ? own.data() : theirs, result.data(), result.size());
    return true;
  }
};

namespace within {

/// The same of long data, as much of either (ExchangedPieces). `result` may be `own`, and `others` too.
Task<> exchange_block(Team& team, LocalCollective& local, ExchangedBlock block);

}  // namespace within

/// Members give their values to one, who combines them.
struct ReducedValues {
  static constexpr bool kAwaitsAll = false;

  std::span<const std::byte> values;
  std::span<std::byte> result;  ///< At the root; may be `values`.
  Reduction reduction;
  std::uint32_t root;  ///< Its local index.

  bool gives(LocalCollective& local) const noexcept { return local.local_index() != root; }
  std::span<const std::byte> given() const noexcept { return values; }
  bool awaits_all(LocalCollective& local) const noexcept { return local.local_index() == root; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return other != root && awaits_all(local); }
  bool take(LocalCollective& local) const {
    if (!awaits_all(local)) return true;
    GivenElements elements(values.size(), reduction);
    const std::byte* sum = values.data();
    for (std::uint32_t other = root; other-- > 0; sum = result.data())
      reduction.combine(elements(given_by(local, other)), sum, result.data(), result.size());
    for (std::uint32_t other = root + 1; other < local.count(); ++other, sum = result.data())
      reduction.combine(sum, elements(given_by(local, other)), result.data(), result.size());
    return true;
  }

 private:
  std::span<const std::byte> given_by(LocalCollective& local, std::uint32_t other) const {
    return {local.data_of(other, values.size()), values.size()};
  }
};

}  // namespace coracle::internals
