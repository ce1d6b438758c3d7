// Values of any size, by messages between all members. First their sizes travel, or what is short at once; then, under
// the same number of the team's, since others may have taken the next ones meanwhile, the rest.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/collectives.hpp"
#include "collectives/data/arguments.hpp"

namespace coracle::internals {
namespace {

// Phases of a Group; the algorithms take some more behind their first.
constexpr std::uint32_t kRest = 1;
constexpr std::uint32_t kScattered = 64;
constexpr std::uint32_t kGathered = 128;

// Along a tree each member sends all of it once or more; longer data is cut in parts instead, of which each member
// sends about as much as it receives.
constexpr std::size_t kTreeBytesMax = 64 * 1024;

/// What goes first: short values travel with their size.
struct Head {
  std::uint64_t bytes = 0;
  std::byte begin[504] = {};
};

Task<> in_parts(Group group, std::span<std::byte> data, std::uint32_t root) {
  const Blocks blocks = Blocks::divide(group.size(), data.size(), 1);
  const std::span<std::byte> own = blocks.of(data, group.position());
  co_await group.phase(kScattered)
      .in_phase("between nodes",
                between::scatter(group.phase(kScattered), data, own, blocks, between::Known::everywhere, root));
  co_await group.phase(kGathered).in_phase("between nodes", between::gather_all(group.phase(kGathered), data, blocks));
}

void copy(std::span<const std::byte> source, std::span<std::byte> target) {
  std::copy(source.begin(), source.end(), target.begin());
}

}  // namespace

Task<std::vector<std::byte>> broadcast_sized(Team& team, std::vector<std::byte> value, std::uint32_t root,
                                             std::source_location where) {
  const HostParticipation participation(team, {Called::broadcast, CollectiveCall::kAnyBytes, root, where});
  if (team.size() == 1) co_return value;
  const Group group(team, participation.sequence());
  const bool gives = team.index() == root;
  Head head;
  if (gives) {
    head.bytes = value.size();
    copy(std::span(value).first(std::min(value.size(), sizeof head.begin)), head.begin);
  }
  co_await group.in_phase("between nodes",
                          between::broadcast(group, std::as_writable_bytes(std::span(&head, 1)), root));
  const std::size_t with_head = std::min<std::size_t>(head.bytes, sizeof head.begin);
  if (!gives) {
    value.resize(head.bytes);
    copy(std::span(head.begin).first(with_head), value);
  }
  const std::span<std::byte> rest = std::span(value).subspan(with_head);
  if (rest.size() > kTreeBytesMax)
    co_await in_parts(group, rest, root);
  else if (!rest.empty())
    co_await group.phase(kRest).in_phase("between nodes", between::broadcast(group.phase(kRest), rest, root));
  co_return value;
}

Task<SizedValues> gather_sized(Team& team, std::vector<std::byte> mine, std::optional<std::uint32_t> root,
                               std::source_location where) {
  const CollectiveCall call{root ? Called::gather : Called::gather_all, CollectiveCall::kAnyBytes,
                            root.value_or(CollectiveCall::kNoRoot), where};
  const HostParticipation participation(team, call);
  const Group group(team, participation.sequence());
  const Blocks of_sizes(team.size(), sizeof(std::size_t));
  const bool takes = !root || team.index() == *root;
  SizedValues all;
  if (takes) all.sizes.resize(team.size());
  const std::size_t size = mine.size();
  if (takes) all.sizes[team.index()] = size;
  const auto sizes = std::as_writable_bytes(std::span(all.sizes));
  if (root)
    co_await group.in_phase("between nodes", between::gather(group, std::as_bytes(std::span(&size, 1)), sizes, of_sizes,
                                                             between::Known::everywhere, *root));
  else
    co_await group.in_phase("between nodes", between::gather_all(group, sizes, of_sizes));
  const Blocks blocks = takes ? Blocks(all.sizes, 1) : Blocks(team.size(), 0);
  if (takes) all.bytes.resize(blocks.total());
  if (root) {
    co_await group.phase(kGathered).in_phase("between nodes", between::gather(group.phase(kGathered), mine, all.bytes,
                                                                              blocks, between::Known::at_root, *root));
  } else {
    copy(mine, blocks.of(std::span(all.bytes), team.index()));
    co_await group.phase(kGathered).in_phase("between nodes",
                                             between::gather_all(group.phase(kGathered), all.bytes, blocks));
  }
  co_return all;
}

}  // namespace coracle::internals
