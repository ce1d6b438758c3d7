// Definitions: what the events of an OTF2 archive refer to by number. Each is written where it is first needed.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "runtime/insight/trace_spans.hpp"

namespace coracle::internals {

/// Throws Error for what the library has refused.
void must(OTF2_ErrorCode code);

/// A row of a rank: see set_lanes(). The first of all ranks come first, so that such a one has the rank's number.
struct Otf2Location {
  OTF2_LocationRef id = 0;
  std::uint32_t rank = 0;
  std::uint32_t lane = 0;
  std::uint64_t events = 0;
};

class Otf2Definitions {
 public:
  /// `writer` belongs to an archive that stays.
  explicit Otf2Definitions(OTF2_GlobalDefWriter* writer) noexcept : writer_(writer) {}

  /// Nanoseconds, from 0; the trace ends at `end_ns`.
  void set_clock(std::uint64_t end_ns);
  /// The job, above its nodes.
  void add_job();
  /// `node`: CORACLE_NOBODY where it is not known.
  void add_rank(std::uint32_t rank, std::uint32_t node, std::uint64_t dropped);
  void add_location(const Otf2Location& location);
  /// The communicator of all ranks: what messages belong to.
  void add_world(std::uint32_t ranks);
  static constexpr OTF2_CommRef kWorld = 0;

  OTF2_RegionRef region(const TraceSpan& span, const RankEvents& rank);
  OTF2_AttributeRef attribute(std::string_view name);

 private:
  using RegionKey = std::tuple<std::string, OTF2_RegionRole, std::string, std::uint32_t>;

  OTF2_StringRef text(std::string_view text);
  OTF2_SystemTreeNodeRef node(std::uint32_t number);
  OTF2_RegionRef new_region(const RegionKey& key);

  OTF2_GlobalDefWriter* writer_;
  std::map<std::string, OTF2_StringRef, std::less<>> texts_;
  std::map<std::string, OTF2_AttributeRef, std::less<>> attributes_;
  std::map<std::uint32_t, OTF2_SystemTreeNodeRef> nodes_;
  std::map<RegionKey, OTF2_RegionRef> regions_;
};

}  // namespace coracle::internals
