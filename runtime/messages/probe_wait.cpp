#include "runtime/messages/probe_wait.hpp"

#include <vector>

#include "runtime/messages/arrivals.hpp"

namespace coracle::internals {

void ProbeWait::enter() {
  arrivals().probes().push_back(this);
}

void ProbeWait::retire() noexcept {
  std::erase(arrivals().probes(), this);
}

}  // namespace coracle::internals
