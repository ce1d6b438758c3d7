// How a node's traces come to the head of the job: as parts that fit into control frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/insight/clock_alignment.hpp"
#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

/// What a node's launcher says of its clock.
struct ClockAnswer {
  std::uint32_t number = 0;  ///< Of the question.
  std::uint64_t ns = 0;
};

/// Some of a rank's events, with times of the node's clock. Each rank has at least one part.
struct TracePart {
  std::uint32_t rank = 0;
  std::uint64_t dropped = 0;       ///< Of the first part; 0 in others.
  std::vector<std::string> texts;  ///< Likewise; none in others.
  std::vector<std::byte> events;   ///< Whole StoredEvents.

  static constexpr std::size_t kEventsMax = 8192;
};

/// In the order in which they are to go.
std::vector<TracePart> parts_of(const RankEvents& rank);

/// What one node has sent.
class NodeTraces {
 public:
  /// Of ranks [first, first + ranks) with at most so many bytes each; throws Error (bad_input) for what is no such
  /// part.
  void add(TracePart part, std::uint32_t first, std::uint32_t ranks, std::uint64_t bytes_max);
  NodeClock& clock() noexcept { return clock_; }
  /// With times of the head's clock. Nothing is left here.
  std::vector<RankEvents> take(std::uint32_t node);

 private:
  NodeClock clock_;
  std::vector<RankEvents> ranks_;
};

}  // namespace coracle::internals
