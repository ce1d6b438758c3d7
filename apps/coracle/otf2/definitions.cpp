// Numbers are given in the order in which things are first named.
#include "apps/coracle/otf2/definitions.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/insight/trace_lanes.hpp"
#include "runtime/insight/trace_words.hpp"

namespace coracle::internals {
namespace {

constexpr OTF2_SystemTreeNodeRef kJob = 0;

OTF2_RegionRole role_of_collective(std::string_view name) noexcept {
  if (name == "barrier") return OTF2_REGION_ROLE_BARRIER;
  switch (flow_of(name)) {
    case Flow::from_root:
      return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case Flow::to_root:
      return OTF2_REGION_ROLE_COLL_ALL2ONE;
    default:
      return OTF2_REGION_ROLE_COLL_ALL2ALL;
  }
}

OTF2_RegionRole role_of(const TraceSpan& span, std::string_view name) noexcept {
  switch (span.kind()) {
    case CORACLE_SPAN_BEGIN:
      return OTF2_REGION_ROLE_FUNCTION;
    case CORACLE_WAIT_BEGIN:
      return OTF2_REGION_ROLE_TASK_WAIT;
    case CORACLE_OPERATION_BEGIN:
      return OTF2_REGION_ROLE_RMA;
    case CORACLE_SEND_BEGIN:
    case CORACLE_RECEIVE_BEGIN:
      return OTF2_REGION_ROLE_POINT2POINT;
    case CORACLE_COLLECTIVE_BEGIN:
      return role_of_collective(name);
    case CORACLE_PAGE_MISS_BEGIN:
    case CORACLE_CHUNK_BEGIN:
    case CORACLE_DMA_BEGIN:
      return OTF2_REGION_ROLE_DATA_TRANSFER;
    default:
      return OTF2_REGION_ROLE_CODE;
  }
}

/// Without the numbers that are attributes: a region is a kind of thing that is done, and not one of its times.
std::string name_of_region(const TraceSpan& span, const RankEvents& rank) {
  switch (span.kind()) {
    case CORACLE_SEND_BEGIN:
      return "send";
    case CORACLE_RECEIVE_BEGIN:
      return "receive";
    case CORACLE_CHUNK_BEGIN:
      return "chunk";
    default:
      return words_of(span, rank).name;
  }
}

}  // namespace

void must(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS)
    throw Error(Errc::unsupported, fmt::format("OTF2 says: {}", OTF2_Error_GetDescription(code)));
}

void Otf2Definitions::set_clock(std::uint64_t end_ns) {
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  must(OTF2_GlobalDefWriter_WriteClockProperties(writer_, kPerSecond, 0, end_ns + 1, OTF2_UNDEFINED_TIMESTAMP));
}

void Otf2Definitions::add_job() {
  must(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, kJob, text("job"), text("job"),
                                                OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  must(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer_, kJob, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
}

OTF2_SystemTreeNodeRef Otf2Definitions::node(std::uint32_t number) {
  if (number == CORACLE_NOBODY) return kJob;
  const auto id = static_cast<OTF2_SystemTreeNodeRef>(kJob + 1 + nodes_.size());
  const auto [place, is_new] = nodes_.try_emplace(number, id);
  if (!is_new) return place->second;
  must(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, id, text(fmt::format("node {}", number)), text("node"), kJob));
  must(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer_, id, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
  return id;
}

void Otf2Definitions::add_rank(std::uint32_t rank, std::uint32_t node_number, std::uint64_t dropped) {
  must(OTF2_GlobalDefWriter_WriteLocationGroup(writer_, rank, text(fmt::format("rank {}", rank)),
                                               OTF2_LOCATION_GROUP_TYPE_PROCESS, node(node_number),
                                               OTF2_UNDEFINED_LOCATION_GROUP));
  OTF2_AttributeValue value{};
  value.uint64 = dropped;
  must(OTF2_GlobalDefWriter_WriteLocationGroupProperty(writer_, rank, text("dropped"), OTF2_TYPE_UINT64, value));
}

void Otf2Definitions::add_location(const Otf2Location& location) {
  const std::string name = fmt::format("rank {}: {}", location.rank, name_of_lane(location.lane));
  must(OTF2_GlobalDefWriter_WriteLocation(writer_, location.id, text(name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                          location.events, location.rank));
}

void Otf2Definitions::add_world(std::uint32_t ranks) {
  constexpr OTF2_GroupRef kLocations = 0;
  constexpr OTF2_GroupRef kMembers = 1;
  must(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_MPI, text("MPI"), OTF2_PARADIGM_CLASS_PROCESS));
  std::vector<std::uint64_t> members(ranks);
  std::iota(members.begin(), members.end(), std::uint64_t{0});
  must(OTF2_GlobalDefWriter_WriteGroup(writer_, kLocations, text("ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, ranks, members.data()));
  must(OTF2_GlobalDefWriter_WriteGroup(writer_, kMembers, text(""), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                       OTF2_GROUP_FLAG_NONE, ranks, members.data()));
  must(OTF2_GlobalDefWriter_WriteComm(writer_, kWorld, text("all ranks"), kMembers, OTF2_UNDEFINED_COMM,
                                      OTF2_COMM_FLAG_NONE));
}

OTF2_RegionRef Otf2Definitions::region(const TraceSpan& span, const RankEvents& rank) {
  std::string name = name_of_region(span, rank);
  const OTF2_RegionRole role = role_of(span, name);
  const RegionKey key{std::move(name), role, rank.text(span.begin.file()), span.begin.line()};
  const auto found = regions_.find(key);
  return found == regions_.end() ? new_region(key) : found->second;
}

OTF2_RegionRef Otf2Definitions::new_region(const RegionKey& key) {
  const auto& [name, role, file, line] = key;
  const auto id = static_cast<OTF2_RegionRef>(regions_.size());
  const bool is_mpi = name.starts_with("MPI_");
  const std::string source = std::filesystem::path(file).lexically_normal().string();
  const OTF2_StringRef title = text(name);
  must(OTF2_GlobalDefWriter_WriteRegion(
      writer_, id, title, title, text(""), role, is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
      source.empty() || line == 0 ? OTF2_UNDEFINED_STRING : text(source), line, line));
  return regions_[key] = id;
}

OTF2_AttributeRef Otf2Definitions::attribute(std::string_view name) {
  const auto found = attributes_.find(name);
  if (found != attributes_.end()) return found->second;
  const auto id = static_cast<OTF2_AttributeRef>(attributes_.size());
  must(OTF2_GlobalDefWriter_WriteAttribute(writer_, id, text(name), text(""), OTF2_TYPE_UINT64));
  attributes_.emplace(name, id);
  return id;
}

OTF2_StringRef Otf2Definitions::text(std::string_view text) {
  const auto found = texts_.find(text);
  if (found != texts_.end()) return found->second;
  std::string copy(text);
  const auto id = static_cast<OTF2_StringRef>(texts_.size());
  must(OTF2_GlobalDefWriter_WriteString(writer_, id, copy.c_str()));
  texts_.emplace(std::move(copy), id);
  return id;
}

}  // namespace coracle::internals
