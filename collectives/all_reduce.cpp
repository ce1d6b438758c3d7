// all_reduce in two levels: on each node by the node area, between nodes by the first member of each. Nothing is gained
// by a leader who comes first: the result needs all.
#include "collectives/all_reduce.hpp"

#include <cstring>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/blocks.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/node/exchange_small.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/reduce_within.hpp"

namespace coracle::internals {
namespace {

// Larger data is combined by all local members, each a slice; it takes one phase more, in which all wait for all.
constexpr std::size_t kByLastBytesMax = 4096;
// From here on results go without a room of their own: moving less is worth one more wait, where that costs little.
constexpr std::size_t kInPlaceBytesMin = 512 * 1024;

/// Small data: every local member gives its values. The last to come combines them, and goes on; where there are other
/// nodes, the first member does, since it has to know them.
Task<> all_reduce_small(LocalCollective& local, const Group* nodes, std::span<std::byte> values,
                        const Reduction& reduction) {
  std::byte* room = co_await local.give(values);
  const bool is_leader = nodes != nullptr ? local.local_index() == 0 : local.round().arrive() + 1 == local.count();
  if (!is_leader) {
    const std::uint64_t decided = co_await local.decision();
    co_await local.take(static_cast<std::uint32_t>(decided - 1), 0, values);
    co_return;
  }
  if (nodes != nullptr) co_await local.wait_for_all(1);
  for (std::uint32_t other = 0; other < local.count(); ++other)
    if (other != local.local_index()) local.check_bytes(other, values.size());
  co_await local.combine_all(0, values, values.data(), reduction);
  if (nodes != nullptr) co_await between::all_reduce(*nodes, values, reduction);
  if (room == nullptr)
    local.round().contribute(values, 2);
  else
    std::memcpy(room, values.data(), values.size());
  local.round().decide(local.local_index() + 1);
}

/// Few local members look at each other's values. All combine them from the first to the last, so that all get the same
/// bits.
Task<> all_reduce_by_exchange(Team& team, std::span<std::byte> values, Reduction reduction,
                              std::source_location where) {
  team.core().check_whole("all_reduce");
  const Participation participation(team, {Called::all_reduce, values.size(), CollectiveCall::kNoRoot, where});
  ExchangeSmall exchange(team);
  if (!exchange.begin(values)) co_await exchange.begin_later(values);
  exchange.spin_for_last();
  // What is contributed inline is aligned to 8 bytes, and some elements want more.
  const bool aligns = values.size() <= Contribution::kInlineBytesMax && reduction.element_bytes % 16 == 0;
  alignas(64) std::byte aligned[Contribution::kInlineBytesMax];
  for (std::uint32_t other = 0; other < exchange.count(); ++other) {
    if (!exchange.has(other)) co_await exchange.from(other);
    const std::byte* theirs = exchange.data_of(other, values.size());
    if (aligns && other > 0) theirs = static_cast<const std::byte*>(std::memcpy(aligned, theirs, values.size()));
    if (other > 0)
      reduction.combine(values.data(), theirs, values.data(), values.size());
    else if (!values.empty())
      std::memcpy(values.data(), theirs, values.size());
  }
}

bool suits_exchange(Team& team, std::size_t bytes) noexcept {
  // Each combines all: among many only as much as costs less than to wait for one who does it.
  constexpr std::uint32_t kFew = 4;
  constexpr std::uint32_t kLocalSizeMax = 8;
  constexpr std::size_t kCombinedBytesMax = 2 * 1024;
  const std::size_t bytes_max = team.size() <= kFew ? kByLastBytesMax : kCombinedBytesMax / team.size();
  // A few words don't need one: where each rank has a core, to read what many have contributed takes less than a wait.
  const bool few_words = bytes <= Contribution::kInlineBytesMax && team.rank().loop().spins();
  return bytes <= bytes_max && ExchangeSmall::suits(team, bytes, few_words ? team.size() : kLocalSizeMax);
}

/// Large data where waiting costs little: each local member combines its slice of all in its own values, from where the
/// others copy it. The least that is moved; but all wait for all three times.
Task<> all_reduce_in_place(LocalCollective& local, std::span<std::byte> values, const Reduction& reduction) {
  local.expose(values, 1);
  co_await local.wait_for_all(1);
  for (std::uint32_t other = 0; other < local.count(); ++other)
    if (other != local.local_index()) local.check_bytes(other, values.size());
  const std::size_t element = reduction.element_bytes;
  const Blocks slices = Blocks::divide(local.count(), values.size() / element, element);
  const std::span<std::byte> own = slices.of(values, local.local_index());
  co_await local.combine_all(slices.offset(local.local_index()), own, own.data(), reduction);
  local.round().publish(2);
  co_await local.wait_for_all(2);
  for (std::uint32_t distance = 1; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    co_await local.take(other, slices.offset(other), slices.of(values, other));
  }
  local.round().publish(3);
  co_await local.wait_for_all(3);
}

Task<> all_reduce_large(LocalCollective& local, const Group* nodes, std::span<std::byte> values,
                        const Reduction& reduction) {
  const bool collects = nodes == nullptr || local.local_index() == 0;
  const std::uint64_t step =
      co_await within::reduce_large(local, values, collects ? values : std::span<std::byte>(), reduction);
  if (nodes == nullptr) co_return;
  if (local.local_index() == 0) co_await between::all_reduce(*nodes, values, reduction);
  co_await within::spread(local, values, 0, step + 1, false);
}

Task<> all_reduce_by_levels(Team& team, std::span<std::byte> values, Reduction reduction, Algorithm algorithm,
                            std::source_location where) {
  team.core().check_whole("all_reduce");
  if (team.size() == 1) co_return;
  const bool crowded = !team.rank().loop().spins();
  const Participation participation(team, {Called::all_reduce, values.size(), CollectiveCall::kNoRoot, where});
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  const bool small = values.size() <= kByLastBytesMax;
  if ((!reduction.commutative && !nodes.contiguous()) || (!small && !within::suits_reduce_large(team, reduction))) {
    co_await between::all_reduce(Group(team, sequence).choosing(algorithm), values, reduction);
    co_return;
  }
  const Group group = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await between::all_reduce(group, values, reduction);
    co_return;
  }
  LocalCollective local(team);
  const Group* others = nodes.count() > 1 ? &group : nullptr;
  if (others == nullptr && !crowded && values.size() >= kInPlaceBytesMin) {
    co_await local.run(all_reduce_in_place(local, values, reduction));
    co_return;
  }
  Task<> part =
      small ? all_reduce_small(local, others, values, reduction) : all_reduce_large(local, others, values, reduction);
  co_await local.run(std::move(part));
}

}  // namespace

Task<> all_reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, Algorithm algorithm,
                        std::source_location where) {
  if (on_device(team, values))
    return refuse_device(team, {Called::all_reduce, values.size(), CollectiveCall::kNoRoot, where});
  if (team.size() > 1 && suits_exchange(team, values.size()))
    return all_reduce_by_exchange(team, values, reduction, where);
  return all_reduce_by_levels(team, values, reduction, algorithm, where);
}

}  // namespace coracle::internals
