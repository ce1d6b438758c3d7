// Which algorithms the collectives have, and what they and the ways of a broadcast are called.
#include <algorithm>
#include <array>
#include <bit>

#include "collectives/choice/model.hpp"

namespace coracle::internals {
namespace {

constexpr Algorithm kReduce[] = {Algorithm::binomial, Algorithm::halving};
constexpr Algorithm kAllReduce[] = {Algorithm::doubling, Algorithm::halving, Algorithm::ring};
constexpr Algorithm kRooted[] = {Algorithm::linear, Algorithm::binomial};
constexpr Algorithm kGatherAll[] = {Algorithm::bruck, Algorithm::ring};
constexpr Algorithm kReduceScatter[] = {Algorithm::pairwise, Algorithm::doubling, Algorithm::halving};
constexpr Algorithm kAllToAll[] = {Algorithm::pairwise, Algorithm::bruck};
constexpr Algorithm kScan[] = {Algorithm::doubling};

struct WaysOf {
  std::string_view name;
  std::span<const Algorithm> algorithms;
};
constexpr std::array<WaysOf, kCollectives> kKnown = {{{"reduce", kReduce},
                                                      {"all_reduce", kAllReduce},
                                                      {"gather", kRooted},
                                                      {"gather_all", kGatherAll},
                                                      {"scatter", kRooted},
                                                      {"reduce_scatter", kReduceScatter},
                                                      {"all_to_all", kAllToAll},
                                                      {"scan", kScan}}};
constexpr std::array<std::string_view, 8> kAlgorithmNames = {"automatic", "linear", "binomial", "doubling",
                                                             "halving",   "ring",   "bruck",    "pairwise"};
constexpr std::array<std::string_view, 4> kMethodNames = {"automatic", "plain", "pipelined", "competitive"};
constexpr std::array<std::string_view, 4> kTreeNames = {"automatic", "binomial", "recursive_doubling", "ring"};

}  // namespace

std::string_view name_of(Collective collective) noexcept {
  return kKnown[static_cast<std::size_t>(collective)].name;
}
std::string_view name_of(Algorithm algorithm) noexcept {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}
std::string_view name_of(BroadcastMethod method) noexcept {
  return kMethodNames[static_cast<std::size_t>(method)];
}
std::string_view name_of(BroadcastTree tree) noexcept {
  return kTreeNames[static_cast<std::size_t>(tree)];
}

std::span<const Algorithm> algorithms_of(Collective collective) noexcept {
  return kKnown[static_cast<std::size_t>(collective)].algorithms;
}

// --- which ways of a broadcast are worth a thought, and the fastest of them ---

namespace {

std::vector<BroadcastMethod> methods_for(TeamShape shape, BroadcastMethod asked) {
  if (asked != BroadcastMethod::automatic) return {asked};
  // In one node the root leads in any case, and with one member per node nobody competes.
  if (shape.nodes == 1 || shape.local_size == 1) return {BroadcastMethod::pipelined, BroadcastMethod::plain};
  return {BroadcastMethod::competitive, BroadcastMethod::pipelined, BroadcastMethod::plain};
}

std::vector<BroadcastTree> trees_for(TeamShape shape, BroadcastTree asked) {
  if (asked == BroadcastTree::recursive_doubling && !std::has_single_bit(shape.nodes)) return {BroadcastTree::ring};
  if (asked != BroadcastTree::automatic) return {asked};
  if (shape.nodes <= 2) return {BroadcastTree::binomial};
  if (!std::has_single_bit(shape.nodes)) return {BroadcastTree::binomial, BroadcastTree::ring};
  return {BroadcastTree::binomial, BroadcastTree::recursive_doubling, BroadcastTree::ring};
}

std::vector<std::size_t> chunks_for(std::size_t bytes, std::size_t asked) {
  if (asked != 0) return {asked};
  constexpr std::size_t kLeast = 8 * 1024;
  constexpr std::size_t kMost = 1024 * 1024;
  std::vector<std::size_t> chunks;
  for (std::size_t chunk = kMost; chunk > kLeast; chunk /= 2)
    if (chunk < bytes) chunks.push_back(chunk);
  // The whole message, if that is not too large to be one piece of a pipeline.
  chunks.push_back(std::clamp(bytes, kLeast, kMost));
  return chunks;
}

std::vector<std::uint32_t> depths_for(TeamShape shape, std::uint32_t asked) {
  if (asked != 0) return {asked};
  if (shape.nodes == 1) return {4};
  return {4, 2, 8};
}

std::vector<std::uint32_t> fan_outs_for(TeamShape shape, std::uint32_t asked) {
  if (asked != 0) return {asked};
  if (shape.local_size <= 2) return {1};
  std::vector<std::uint32_t> fan_outs{shape.local_size - 1};
  for (std::uint32_t fan_out = 2; fan_out < shape.local_size - 1; fan_out *= 2) fan_outs.push_back(fan_out);
  return fan_outs;
}

}  // namespace

std::vector<BroadcastChoice> CostModel::broadcast_candidates(std::size_t bytes, TeamShape shape,
                                                             const BroadcastChoice& asked) const {
  std::vector<BroadcastChoice> candidates;
  for (const BroadcastMethod method : methods_for(shape, asked.method)) {
    for (const BroadcastTree tree : trees_for(shape, asked.tree)) {
      for (const std::size_t chunk : chunks_for(bytes, asked.chunk_bytes)) {
        for (const std::uint32_t depth : depths_for(shape, asked.depth)) {
          for (const std::uint32_t fan_out : fan_outs_for(shape, asked.fan_out))
            candidates.push_back({method, tree, chunk, depth, fan_out});
        }
      }
    }
  }
  return candidates;
}

BroadcastChoice CostModel::choose_broadcast(std::size_t bytes, TeamShape shape, const BroadcastChoice& asked) const {
  // The first in the list is the best where nothing tells them apart.
  constexpr double kAdvantage = 0.98;
  return quickest(broadcast_candidates(bytes, shape, asked), kAdvantage,
                  [&](const BroadcastChoice& candidate) { return broadcast_ns(candidate, bytes, shape); });
}

}  // namespace coracle::internals
