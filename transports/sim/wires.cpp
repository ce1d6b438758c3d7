// LogGP at both ends of a wire.
#include "transports/sim/wires.hpp"

#include <algorithm>

namespace coracle::internals::sim {

Wires::Wires(const NetworkModel& model, const JobShape& shape)
    : model_(model), shape_(shape), ranks_(shape.size), nodes_(shape.nodes) {}

Wires::Span Wires::send(std::uint32_t from, std::uint32_t to, std::size_t bytes, std::uint64_t ready_ns) noexcept {
  const Link& way = link(from, to);
  Port& from_port = port(from, to);
  const std::uint64_t first = std::max(ready_ns, from_port.out_free_ns);
  const std::uint64_t duration = way.time_for(bytes);
  from_port.out_free_ns = first + std::max(way.gap_ns, duration);
  return {first, first + duration};
}

std::uint64_t Wires::receive(std::uint32_t from, std::uint32_t to, std::size_t bytes, std::uint64_t now_ns) noexcept {
  const Link& way = link(from, to);
  Port& to_port = port(to, from);
  const std::uint64_t first = std::max(now_ns, to_port.in_free_ns);
  const std::uint64_t duration = way.time_for(bytes);
  // One more than the duration at least: what comes in later is then in later, so that order is kept.
  to_port.in_free_ns = first + std::max(way.gap_ns, duration + 1);
  return first + duration;
}

}  // namespace coracle::internals::sim
