// Scans among the members of a team on one node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/data/reduction.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

enum class ScanKind : bool {
  exclusive,  ///< Of those before this member. The first one's result stays as it is.
  inclusive,  ///< Of those up to this member.
};

/// A member's part of a scan.
struct ScanData {
  ScanKind kind;
  std::span<const std::byte> values;
  std::span<std::byte> result;  ///< May be `values`; of an exclusive one's first member: is not looked at.
  std::span<std::byte> sum;     ///< Of an exclusive one's last member: of all up to this one; empty: nobody needs it.
  bool backwards = false;       ///< From the last member to the first: what is combined is in the team's order still.
};

/// Small data: each combines what those before it have given. A kind of ShortCollective.
struct ScannedValues {
  static constexpr bool kAwaitsAll = false;

  ScanData data;
  Reduction reduction;
  const std::byte* first;  ///< See combine_first(); null: there is none.

  /// Nobody looks at the last one's.
  bool gives(LocalCollective& local) const noexcept { return local.local_index() + 1 < local.count(); }
  std::span<const std::byte> given() const noexcept { return data.values; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return other < local.local_index(); }
  bool take(LocalCollective& local) const;
};

/// Of an exclusive scan: `first`, an element, comes before all in `result`, which has nothing yet at the first member.
void combine_first(const std::byte* first, bool has_before, std::span<std::byte> result, const Reduction& reduction);

}  // namespace coracle::internals

namespace coracle::internals::within {

/// Whether all of a team on one node can scan as ScannedValues do; and whether they can as scan_large() does: the same
/// at all members.
bool suits_scan_short(Team& team, std::size_t bytes) noexcept;
bool suits_scan_large(Team& team, std::size_t bytes, const Reduction& reduction) noexcept;

/// Large data: each hands on to the next what is combined so far, piece by piece. Gives the last step.
Task<std::uint64_t> scan_large(Team& team, LocalCollective& local, ScanData data, const Reduction& reduction);

}  // namespace coracle::internals::within
