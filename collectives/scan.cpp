// scan in two levels: on a node through the other local members in their order; between nodes by the last of each, who
// has the sum of its node.
#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/scan_within.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kScannedAtOnceMax = 4096;

/// Small data: each combines what those before it have given.
Task<> scan_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> before,
                  const Reduction& reduction) {
  const bool is_last = local.local_index() + 1 == local.count();
  if (!is_last) co_await local.give(values);
  for (std::uint32_t other = local.local_index(); other-- > 0;) {
    co_await local.wait(other, 1);
    local.check_bytes(other, values.size());
    if (other + 1 == local.local_index())
      co_await local.take(other, 0, before);
    else
      co_await within::combine(local, other, 0, before, before.data(), reduction);
  }
}

/// `before`: gets what all members before this one give. The first member's stays as it is.
Task<> scan_two_levels(LocalCollective& local, Team& team, std::uint64_t sequence, std::span<const std::byte> values,
                       std::span<std::byte> before, const Reduction& reduction) {
  const TeamNodes& nodes = team.nodes();
  const std::uint32_t last = local.count() - 1;
  const bool is_first = local.local_index() == 0;
  // Of this node, for those of later ones.
  const bool needs_sum = nodes.count() > 1 && local.local_index() == last;
  const std::span<std::byte> sum = needs_sum ? local.keep(values.size()) : std::span<std::byte>();
  std::uint64_t step = 1;
  if (values.size() <= kScannedAtOnceMax) {
    co_await scan_small(local, values, before, reduction);
    if (needs_sum) reduction.combine(before.data(), values.data(), sum.data(), values.size());
  } else {
    step = co_await within::scan_large(team, local, {ScanKind::exclusive, values, before, sum}, reduction);
  }
  if (nodes.count() == 1) co_return;
  const std::span<std::byte> others = local.keep(values.size());  // those of earlier nodes
  if (local.local_index() == last)
    co_await Group::of_last(team, sequence)
        .in_phase("between nodes", between::exclusive_scan(Group::of_last(team, sequence), sum, others, reduction));
  if (nodes.own() == 0) co_return;
  if (local.local_index() == last)
    co_await within::hand_out(local, others, step + 1);
  else
    co_await within::fetch(local, last, others.size(), 0, others, step + 1);
  if (is_first)
    std::copy(others.begin(), others.end(), before.begin());
  else
    reduction.combine(others.data(), before.data(), before.data(), before.size());
}

Task<> exclusive_scan(Team& team, std::span<const std::byte> values, std::span<std::byte> before, Reduction reduction,
                      std::uint64_t sequence) {
  const TeamNodes& nodes = team.nodes();
  const bool two_levels = nodes.largest() > 1 && nodes.contiguous() && within::reaches(team);
  if (!two_levels || nodes.size_of(nodes.own()) == 1) {
    const Group group = two_levels ? Group::of_last(team, sequence) : Group(team, sequence);
    co_await group.in_phase("between nodes", between::exclusive_scan(group, values, before, reduction));
    co_return;
  }
  LocalCollective local(team);
  Task<> part = scan_two_levels(local, team, sequence, values, before, reduction);
  co_await local.run(std::move(part));
}

/// With other nodes, or by messages, what comes before a member is combined first: in the result, unless the values are
/// there, or it has no room for that.
Task<> scan_by_levels(Team& team, const ScanData& data, const Reduction& reduction, std::uint64_t sequence) {
  std::optional<Scratch> own;
  std::span<std::byte> before = data.result;
  if (data.values.data() == data.result.data() || data.result.size() != data.values.size())
    before = own.emplace(data.values.size()).span();
  co_await exclusive_scan(team, data.values, before, reduction, sequence);
  const bool has_before = team.index() > 0;
  if (data.kind == ScanKind::inclusive && has_before)
    reduction.combine(before.data(), data.values.data(), data.result.data(), data.values.size());
  else if (data.kind == ScanKind::inclusive || has_before)
    copy_bytes(has_before ? before : data.values, data.result);
}

Task<> scan_on_node(Team& team, LocalCollective& local, const ScanData& data, const Reduction& reduction) {
  co_await within::scan_large(team, local, data, reduction);
}

/// `first`: as of exclusive_scan_bytes().
Task<> scan_long(Team& team, ScanData data, Reduction reduction, const std::byte* first, CollectiveCall call) {
  const HostParticipation participation(team, call, data.values, data.result);
  const bool on_node = team.nodes().count() == 1 && team.size() > 1 && data.values.size() > kScannedAtOnceMax;
  if (on_node && within::suits_scan_large(team, data.values.size(), reduction)) {
    LocalCollective local(team);
    co_await local.run(scan_on_node(team, local, data, reduction));
  } else {
    co_await scan_by_levels(team, data, reduction, participation.sequence());
  }
  if (first != nullptr) combine_first(first, team.index() > 0, data.result, reduction);
}

/// What both kinds are.
struct ScanCall {
  ScanCall(ScanKind kind, std::span<const std::byte> values, std::span<std::byte> result, std::source_location where)
      : data{kind, values, result, {}},
        called{kind == ScanKind::inclusive ? Called::scan : Called::exclusive_scan, values.size(),
               CollectiveCall::kNoRoot, where} {}
  Task<> start(Team& team, const Reduction& reduction, const std::byte* first) const {
    if (!within::suits_scan_short(team, data.values.size())) return scan_long(team, data, reduction, first, called);
    return short_collective(on_device(team, data.values, data.result), team, called,
                            ScannedValues{data, reduction, first});
  }
  void finish(Team& team, const Reduction& reduction, RunTask run) const {
    if (!within::suits_scan_short(team, data.values.size()))
      return run(scan_long(team, data, reduction, nullptr, called));
    short_collective_blocking(on_device(team, data.values, data.result), team, called,
                              ScannedValues{data, reduction, nullptr}, run);
  }

  ScanData data;
  CollectiveCall called;
};

}  // namespace

Task<> scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                  std::source_location where) {
  return ScanCall(ScanKind::inclusive, values, result, where).start(team, reduction, nullptr);
}

Task<> exclusive_scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                            Reduction reduction, const std::byte* first, std::source_location where) {
  return ScanCall(ScanKind::exclusive, values, result, where).start(team, reduction, first);
}

void scan_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                   std::source_location where, RunTask run) {
  ScanCall(ScanKind::inclusive, values, result, where).finish(team, reduction, run);
}

void exclusive_scan_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                             Reduction reduction, std::source_location where, RunTask run) {
  ScanCall(ScanKind::exclusive, values, result, where).finish(team, reduction, run);
}

}  // namespace coracle::internals
