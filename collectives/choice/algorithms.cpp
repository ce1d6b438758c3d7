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

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "reduce", "all_reduce", "gather", "gather_all", "scatter", "reduce_scatter", "all_to_all", "scan"};
constexpr std::array<std::string_view, 8> kAlgorithmNames = {"automatic", "linear", "binomial", "doubling",
                                                             "halving",   "ring",   "bruck",    "pairwise"};
constexpr std::array<std::string_view, 4> kMethodNames = {"automatic", "plain", "pipelined", "competitive"};
constexpr std::array<std::string_view, 4> kTreeNames = {"automatic", "binomial", "recursive_doubling", "ring"};

}  // namespace

std::string_view name_of(Collective collective) noexcept {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
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
  switch (collective) {
    case Collective::reduce:
      return kReduce;
    case Collective::all_reduce:
      return kAllReduce;
    case Collective::gather:
    case Collective::scatter:
      return kRooted;
    case Collective::gather_all:
      return kGatherAll;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::all_to_all:
      return kAllToAll;
    case Collective::scan:
      return kScan;
  }
  return {};
}

}  // namespace coracle::internals
