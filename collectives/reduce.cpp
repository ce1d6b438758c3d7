// reduce and all_reduce in two levels: on each node by the node area, between nodes by one member of each: of a reduce
// at the root's node the root. Nothing is gained by a leader who comes first: the result needs all.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/blocks.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "collectives/node/exchanged_values.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/scan_within.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

// Larger data is combined by all local members, each a slice; it takes one phase more, in which all wait for all.
constexpr std::size_t kSmallBytesMax = 4096;
// From here on results of an all_reduce go without a room of their own: moving less is worth one more wait, where that
// costs little.
constexpr std::size_t kInPlaceBytesMin = 128 * 1024;

/// Whether nodes don't help, or can't: then all go by messages.
bool goes_by_messages(Team& team, std::size_t bytes, const Reduction& reduction) {
  return (!reduction.commutative && !team.nodes().contiguous()) ||
         (bytes > kSmallBytesMax && !within::suits_reduce_large(team, reduction) &&
          !within::suits_reduce_staged(team, reduction));
}

/// Small data: every local member gives its values. The last to come combines them, and goes on; where there are other
/// nodes, the first member does, since it has to know them.
Task<> all_reduce_small(LocalCollective& local, const Group* nodes, std::span<const std::byte> values,
                        std::span<std::byte> result, const Reduction& reduction) {
  Round& round = local.round();
  co_await local.give(values);
  const bool is_leader = nodes != nullptr ? local.local_index() == 0 : round.arrive() + 1 == local.count();
  if (!is_leader) {
    const std::uint64_t decided = co_await local.decision();
    co_await local.take(static_cast<std::uint32_t>(decided - 1), 0, result);
    co_return;
  }
  if (nodes != nullptr) co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  co_await within::combine_in_order(local, values, result, reduction);
  if (nodes != nullptr) co_await nodes->in_phase("between nodes", between::all_reduce(*nodes, result, reduction));
  if (round.is_exposed(local.local_index()))  // in its arena
    std::memcpy(const_cast<std::byte*>(round.exposed(local.local_index()).address), result.data(), result.size());
  else
    round.contribute(result, 2);
  round.decide(local.local_index() + 1);
}

/// Whether few local members look at each other's values (ExchangedValues).
bool suits_exchange(Team& team, std::size_t bytes) noexcept {
  // Each combines all: among many only as much as costs less than to wait for one who does it; of two none does more
  // than when each combines a half and copies the other.
  constexpr std::size_t kPairBytesMax = 8 * 1024;
  constexpr std::uint32_t kFew = 4;
  constexpr std::uint32_t kLocalSizeMax = 8;
  constexpr std::size_t kCombinedBytesMax = 2 * 1024;
  const std::size_t bytes_max = team.size() == 2      ? std::max(kPairBytesMax, within::handed_bytes_max(team))
                                : team.size() <= kFew ? kSmallBytesMax
                                                      : kCombinedBytesMax / team.size();
  // A few words don't need one: where each rank has a core, to read what many have contributed takes less than a wait.
  const bool few_words = bytes <= Contribution::kInlineBytesMax && team.rank().loop().spins();
  return team.size() > 1 && bytes <= bytes_max &&
         within::can_exchange(team, bytes, few_words ? team.size() : kLocalSizeMax, bytes_max);
}

/// Large data where waiting costs little: each local member combines its slice of all in its own result, from where the
/// others copy it. The least that is moved; but all wait for all three times.
Task<> all_reduce_in_place(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                           const Reduction& reduction) {
  local.round().expose_results(result.data());
  local.expose(values, 1);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  const std::size_t element = reduction.element_bytes;
  const Blocks slices = Blocks::divide(local.count(), values.size() / element, element);
  const std::span<const std::byte> own = slices.of(values, local.local_index());
  const std::size_t begin = slices.offset(local.local_index());
  co_await within::combine_all(local, begin, own, result.data() + begin, reduction);
  co_await local.meet(2);
  for (std::uint32_t distance = 1; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    co_await local.take_result(other, slices.offset(other), slices.of(result, other));
  }
  co_await local.meet(3);
}

Task<> all_reduce_large(LocalCollective& local, const Group* nodes, std::span<const std::byte> values,
                        std::span<std::byte> result, const Reduction& reduction) {
  const bool leads = local.local_index() == 0;
  const std::span<std::byte> of_node = nodes == nullptr || leads ? result : std::span<std::byte>();
  const within::Takers takers = nodes == nullptr ? within::Takers::all : within::Takers::one;
  const std::uint64_t step = co_await within::reduce_large(local, values, of_node, takers, reduction) + 1;
  if (nodes == nullptr) co_return;
  if (leads) {
    co_await nodes->in_phase("between nodes", between::all_reduce(*nodes, result, reduction));
    co_await within::hand_out(local, result, step);
  } else {
    co_await within::fetch(local, 0, result.size(), 0, result, step);
  }
}

/// By messages it goes in place.
Task<> all_reduce_between(Group group, std::span<const std::byte> values, std::span<std::byte> result,
                          const Reduction& reduction) {
  copy_bytes(values, result);
  return group.in_phase("between nodes", between::all_reduce(group, result, reduction));
}

Task<> all_reduce_by_levels(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                            Reduction reduction, Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, values, result);
  if (team.size() == 1) co_return copy_bytes(values, result);
  const bool crowded = !team.rank().loop().spins();
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  if (goes_by_messages(team, values.size(), reduction)) {
    co_await all_reduce_between(Group(team, sequence).choosing(algorithm), values, result, reduction);
    co_return;
  }
  const Group group = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await all_reduce_between(group, values, result, reduction);
    co_return;
  }
  LocalCollective local(team);
  const Group* others = nodes.count() > 1 ? &group : nullptr;
  const bool small = values.size() <= kSmallBytesMax;
  const bool staged = !small && !within::reaches(team);
  const bool in_place = others == nullptr && !crowded && values.size() >= kInPlaceBytesMin;
  const bool by_pieces = ExchangedPieces::suits(team, values.size(), reduction.element_bytes);
  const ExchangedBlock both{values, values, result, reduction};
  Task<> part = by_pieces  ? within::exchange_block(team, local, both)
                : small    ? all_reduce_small(local, others, values, result, reduction)
                : staged   ? within::reduce_staged(local, values, result, within::Takers::all, reduction)
                : in_place ? all_reduce_in_place(local, values, result, reduction)
                           : all_reduce_large(local, others, values, result, reduction);
  co_await local.run(std::move(part));
}

/// Two members, each with a core, and data of which the root takes no longer than a copy would to come. What is longer
/// is quicker by copies, piece by piece, where it is not written anew each time: what the root has read its owner must
/// fetch back line by line.
bool suits_pair_in_place(Team& team, const LocalCollective& local, std::size_t bytes) noexcept {
  constexpr std::size_t kBytesMax = 512 * 1024;
  return local.count() == 2 && bytes <= kBytesMax && within::reaches(team) && !team.node_area().is_crowded();
}

/// The root reads the other one's values where they lie.
Task<> reduce_pair_in_place(Team& team, LocalCollective& local, std::span<const std::byte> values,
                            std::span<std::byte> result, std::uint32_t root, const Reduction& reduction) {
  if (local.local_index() != root) {
    if (local.try_hand(values)) co_return;
    local.expose(values, 1);
    co_return co_await within::leave_for(team, local, {root}, values);
  }
  const std::uint32_t other = 1 - root;
  co_await local.wait(other, 1);
  local.check_bytes(other, values.size());
  co_await within::combine(local, other, 0, values, result.data(), reduction);
  local.round().publish(1);
}

/// Of two members the root combines all: it would fetch no less from the other one, and that one goes on sooner.
Task<> reduce_pair(Team& team, LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                   std::uint32_t root, const Reduction& reduction) {
  const ScanData data{ScanKind::inclusive, values, result, {}, root == 0};
  co_await within::scan_large(team, local, data, reduction);
}

Task<> reduce_on_node(Team& team, LocalCollective& local, std::span<const std::byte> values,
                      std::span<std::byte> result, std::uint32_t leader, const Reduction& reduction) {
  const bool by_copies = !within::reaches(team) && within::hands(team, values.size());
  if (values.size() <= kSmallBytesMax || by_copies)
    co_await within::reduce_small(local, values, result, leader, reduction);
  else if (suits_pair_in_place(team, local, values.size()))
    co_await reduce_pair_in_place(team, local, values, result, leader, reduction);
  else if (local.count() == 2 && within::suits_scan_large(team, values.size(), reduction))
    co_await reduce_pair(team, local, values, result, leader, reduction);
  else if (!within::reaches(team))
    co_await within::reduce_staged(local, values, result, within::Takers::one, reduction);
  else
    co_await within::reduce_large(local, values, result, within::Takers::one, reduction);
}

/// `result`: at the root; others combine in memory of their own.
Task<> reduce_between(Group group, std::span<const std::byte> values, std::span<std::byte> result,
                      const Reduction& reduction, std::uint32_t root) {
  std::optional<Scratch> own;
  if (group.position() != root) result = own.emplace(values.size()).span();
  copy_bytes(values, result);
  co_await group.in_phase("between nodes", between::reduce(group, result, reduction, root));
}

Task<> reduce_by_levels(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                        std::uint32_t root, Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, values, result);
  if (team.size() == 1) co_return copy_bytes(values, result);
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  if (goes_by_messages(team, values.size(), reduction)) {
    co_await reduce_between(Group(team, sequence).choosing(algorithm), values, result, reduction, root);
    co_return;
  }
  const Group group = Group::of_nodes(team, sequence, root).choosing(algorithm);
  const std::uint32_t root_node = nodes.node_of(root);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await reduce_between(group, values, result, reduction, root_node);
    co_return;
  }
  const std::uint32_t leader = root_node == nodes.own() ? nodes.local_index_of(root) : 0;
  LocalCollective local(team);
  const bool leads = local.local_index() == leader;
  std::optional<Scratch> sum;  // of a leader that is not the root
  if (leads && team.index() != root) result = sum.emplace(values.size()).span();
  co_await local.run(reduce_on_node(team, local, values, result, leader, reduction));
  if (leads && nodes.count() > 1)
    co_await group.in_phase("between nodes", between::reduce(group, result, reduction, root_node));
}

/// Whether members give their values to the root by shared memory, as small as they are (ReducedValues). Where ranks
/// share cores it may combine more than it would have to: less than the turns of all others would take it.
bool suits_giving(Team& team, std::size_t bytes) noexcept {
  constexpr std::size_t kCombinedBytesMaxCrowded = 256 * 1024;
  const bool crowded = team.node_area().is_crowded();
  const std::size_t most = crowded ? std::max(kSmallBytesMax, kCombinedBytesMaxCrowded / team.size()) : kSmallBytesMax;
  return team.size() > 1 && bytes <= most && within::can_exchange(team, bytes, team.size(), most);
}

}  // namespace

Task<> all_reduce_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                        Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::all_reduce, values.size(), CollectiveCall::kNoRoot, where};
  if (!suits_exchange(team, values.size()))
    return all_reduce_by_levels(team, values, result, reduction, algorithm, call);
  return short_collective(on_device(team, values, result), team, call, ExchangedValues{values, result, reduction});
}

void all_reduce_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                         Reduction reduction, std::source_location where, RunTask run) {
  if (!suits_exchange(team, values.size()))
    return run(all_reduce_bytes(team, values, result, reduction, Algorithm::automatic, where));
  const CollectiveCall call{Called::all_reduce, values.size(), CollectiveCall::kNoRoot, where};
  short_collective_blocking(on_device(team, values, result), team, call, ExchangedValues{values, result, reduction},
                            run);
}

Task<> reduce_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                    std::uint32_t root, Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::reduce, values.size(), root, where};
  if (!suits_giving(team, values.size()))
    return reduce_by_levels(team, values, result, reduction, root, algorithm, call);
  return short_collective(on_device(team, values, result), team, call, ReducedValues{values, result, reduction, root});
}

void reduce_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                     std::uint32_t root, std::source_location where, RunTask run) {
  if (!suits_giving(team, values.size()))
    return run(reduce_bytes(team, values, result, reduction, root, Algorithm::automatic, where));
  const CollectiveCall call{Called::reduce, values.size(), root, where};
  short_collective_blocking(on_device(team, values, result), team, call, ReducedValues{values, result, reduction, root},
                            run);
}

}  // namespace coracle::internals
