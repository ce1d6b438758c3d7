// reduce in two levels: on each node by the node area, between nodes by one member of each, at the root's node the
// root.
#include "collectives/reduce.hpp"

#include <algorithm>
#include <optional>

#include "collectives/between/between.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/reduce_within.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kSmallBytes = 4096;

Task<> reduce_on_node(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                      std::uint32_t leader, const Reduction& reduction) {
  if (values.size() <= kSmallBytes)
    co_await within::reduce_small(local, values, result, leader, reduction);
  else
    co_await within::reduce_large(local, values, result, reduction);
}

/// `values` of others than the root is only read.
Task<> reduce_between(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root) {
  if (group.position() == root) {
    co_await between::reduce(group, values, reduction, root);
    co_return;
  }
  const Scratch own(values.size());
  std::copy(values.begin(), values.end(), own.data());
  co_await between::reduce(group, own.span(), reduction, root);
}

}  // namespace

Task<> reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, std::uint32_t root,
                    Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::reduce, values.size(), root, where};
  if (on_device(team, values)) co_return co_await refuse_device(team, call);
  team.core().check_whole("reduce");
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  if (team.size() == 1) co_return;
  const Participation participation(team, call);
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  if ((!reduction.commutative && !nodes.contiguous()) ||
      (values.size() > kSmallBytes && !within::suits_reduce_large(team, reduction))) {
    co_await reduce_between(Group(team, sequence).choosing(algorithm), values, reduction, root);
    co_return;
  }
  const Group group = Group::of_nodes(team, sequence, root).choosing(algorithm);
  const std::uint32_t root_node = nodes.node_of(root);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await reduce_between(group, values, reduction, root_node);
    co_return;
  }
  const std::uint32_t leader = root_node == nodes.own() ? nodes.local_index_of(root) : 0;
  LocalCollective local(team);
  const bool leads = local.local_index() == leader;
  const bool is_root = team.index() == root;
  std::optional<Scratch> sum;  // of a leader that is not the root
  if (leads && !is_root) sum.emplace(values.size());
  const std::span<std::byte> result = is_root ? values : sum ? sum->span() : std::span<std::byte>();
  co_await local.run(reduce_on_node(local, values, result, leader, reduction));
  if (leads && nodes.count() > 1) co_await between::reduce(group, result, reduction, root_node);
}

}  // namespace coracle::internals
