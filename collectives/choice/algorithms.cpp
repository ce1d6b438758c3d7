// Which algorithms the collectives have, and what they and the ways of a broadcast are called.
#include <array>

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

}  // namespace coracle::internals
