// The words for placements.
#include "runtime/core/placement.hpp"

namespace coracle::internals {

const char* to_string(Placement placement) noexcept {
  switch (placement) {
    case Placement::pvas:
      return "pvas";
    case Placement::process:
      return "process";
    case Placement::thread:
      return "thread";
    case Placement::sim:
      return "sim";
  }
  return "?";
}

std::optional<Placement> parse_placement(std::string_view word) noexcept {
  for (Placement placement : {Placement::pvas, Placement::process, Placement::thread, Placement::sim})
    if (word == to_string(placement)) return placement;
  return std::nullopt;
}

}  // namespace coracle::internals
