// Names of what the tables count.
#include "runtime/insight/summary_memory.hpp"

namespace coracle::internals {

const char* name_of(WaitGroup group) noexcept {
  constexpr std::array<const char*, kWaitGroups> kNames{
      "unknown", "inside",  "children", "timer", "io",     "readiness",  "device", "operation",
      "call",    "receive", "transfer", "send",  "signal", "collective", "loss",   "page"};
  return kNames.at(static_cast<std::size_t>(group));
}

const char* name_of(TrafficKind flow) noexcept {
  constexpr std::array<const char*, kTrafficKinds> kNames{"message", "collective", "put", "get", "atomic"};
  return kNames.at(static_cast<std::size_t>(flow));
}

}  // namespace coracle::internals
