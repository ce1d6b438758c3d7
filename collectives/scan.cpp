// scan in two levels: on a node through the other local members in their order; between nodes by the last of each, who
// has the sum of its node.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kScannedAtOnceMax = 4096;
constexpr std::size_t kPieceBytes = 64 * 1024;

/// Small data: each combines what those before it have given.
Task<> scan_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> before,
                  const Reduction& reduction) {
  co_await local.give(values);
  for (std::uint32_t other = local.local_index(); other-- > 0;) {
    co_await local.wait(other, 1);
    local.check_bytes(other, values.size());
    if (other + 1 == local.local_index())
      co_await local.take(other, 0, before);
    else
      co_await within::combine(local, other, 0, before, before.data(), reduction);
  }
}

/// Large data: each hands on to the next what is combined so far, piece by piece, in `sum`. Gives the last step.
Task<std::uint64_t> scan_large(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> before,
                               std::span<std::byte> sum, const Reduction& reduction) {
  const std::size_t piece = kPieceBytes / reduction.element_bytes * reduction.element_bytes;
  const bool is_first = local.local_index() == 0;
  std::uint64_t step = 1;
  local.expose(sum, step);
  for (std::size_t begin = 0; begin < values.size(); begin += piece) {
    const std::size_t bytes = std::min(piece, values.size() - begin);
    if (is_first) {
      std::copy_n(values.data() + begin, bytes, sum.data() + begin);
    } else {
      co_await local.wait(local.local_index() - 1, step + 1);
      if (begin == 0) local.check_bytes(local.local_index() - 1, values.size());
      co_await local.take(local.local_index() - 1, begin, before.subspan(begin, bytes));
      reduction.combine(before.data() + begin, values.data() + begin, sum.data() + begin, bytes);
    }
    local.round().publish(++step);
  }
  if (local.local_index() + 1 < local.count()) co_await local.wait(local.local_index() + 1, step);
  co_return step;
}

/// `before`: gets what all members before this one give. The first member's stays as it is.
Task<> scan_two_levels(LocalCollective& local, Team& team, std::uint64_t sequence, std::span<const std::byte> values,
                       std::span<std::byte> before, const Reduction& reduction) {
  const TeamNodes& nodes = team.nodes();
  const std::uint32_t last = local.count() - 1;
  const bool is_first = local.local_index() == 0;
  const std::span<std::byte> sum = local.keep(values.size());
  std::uint64_t step = 1;
  if (values.size() <= kScannedAtOnceMax) {
    co_await scan_small(local, values, before, reduction);
    if (local.local_index() == last) reduction.combine(before.data(), values.data(), sum.data(), values.size());
  } else {
    step = co_await scan_large(local, values, before, sum, reduction);
  }
  if (nodes.count() == 1) co_return;
  const std::span<std::byte> others = local.keep(values.size());  // those of earlier nodes
  if (local.local_index() == last)
    co_await Group::of_last(team, sequence)
        .in_phase("between nodes", between::exclusive_scan(Group::of_last(team, sequence), sum, others, reduction));
  if (nodes.own() == 0) co_return;
  if (local.local_index() == last)
    co_await local.hand_out(others, step + 1);
  else
    co_await local.fetch(last, others.size(), 0, others, step + 1);
  if (is_first)
    std::copy(others.begin(), others.end(), before.begin());
  else
    reduction.combine(others.data(), before.data(), before.data(), before.size());
}

/// Where what comes before is combined: in the result, unless that is needed for something else.
class RoomBefore {
 public:
  RoomBefore(std::span<std::byte> result, bool needed) : room_(result) {
    if (needed) room_ = own_.emplace(result.size()).span();
  }
  std::span<std::byte> span() const noexcept { return room_; }

 private:
  std::optional<Scratch> own_;
  std::span<std::byte> room_;
};

Task<> exclusive_scan(Team& team, std::span<const std::byte> values, std::span<std::byte> before, Reduction reduction,
                      std::uint64_t sequence) {
  const TeamNodes& nodes = team.nodes();
  const bool two_levels = nodes.largest() > 1 && nodes.contiguous() && LocalCollective::can_expose(team);
  if (!two_levels || nodes.size_of(nodes.own()) == 1) {
    const Group group = two_levels ? Group::of_last(team, sequence) : Group(team, sequence);
    co_await group.in_phase("between nodes", between::exclusive_scan(group, values, before, reduction));
    co_return;
  }
  LocalCollective local(team);
  Task<> part = scan_two_levels(local, team, sequence, values, before, reduction);
  co_await local.run(std::move(part));
}

}  // namespace

Task<> scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                  std::source_location where) {
  const HostParticipation participation(team, {Called::scan, values.size(), CollectiveCall::kNoRoot, where}, values,
                                        result);
  const RoomBefore before(result, values.data() == result.data());
  co_await exclusive_scan(team, values, before.span(), reduction, participation.sequence());
  if (team.index() > 0)
    reduction.combine(before.span().data(), values.data(), result.data(), values.size());
  else
    copy_bytes(values, result);
}

Task<> exclusive_scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                            Reduction reduction, const std::byte* first, std::source_location where) {
  const CollectiveCall call{Called::exclusive_scan, values.size(), CollectiveCall::kNoRoot, where};
  const HostParticipation participation(team, call, values, result);
  const RoomBefore before(result, first != nullptr || values.data() == result.data());
  co_await exclusive_scan(team, values, before.span(), reduction, participation.sequence());
  const bool has_before = team.index() > 0;
  if (first == nullptr) {
    if (has_before) copy_bytes(before.span(), result);
    co_return;
  }
  for (std::size_t i = 0; i < result.size(); i += reduction.element_bytes)
    std::memcpy(result.data() + i, first, reduction.element_bytes);
  if (has_before) reduction.combine(result.data(), before.span().data(), result.data(), result.size());
}

}  // namespace coracle::internals
