// A table without chains: of two kinds that fall on one place the later is remembered.
#include "runtime/messages/experience.hpp"

#include <algorithm>

namespace coracle {

Experience::Entry& Experience::entry_of(const MessageKind& kind) noexcept {
  // An odd constant of splitmix64 for each part.
  std::uint64_t mixed = (kind.bytes << 20 ^ kind.peer) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(kind.source)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(kind.target)) * 0x94D049BB133111EB;
  Entry& entry = entries_[(mixed ^ mixed >> 32) % kEntries];
  if (entry.kind != kind) entry = {kind};
  return entry;
}

std::size_t Experience::choose(const MessageKind& kind, std::size_t count, std::size_t expected) noexcept {
  Entry& entry = entry_of(kind);
  ++entry.uses;
  if (entry.tries[expected] < kTries) return expected;
  for (std::size_t means = 0; means < count; ++means)
    if (entry.tries[means] == 0) return means;
  const auto first = entry.ns.begin();
  const auto best =
      static_cast<std::size_t>(std::min_element(first, first + static_cast<std::ptrdiff_t>(count)) - first);
  for (std::size_t means = 0; means < count; ++means)
    if (entry.tries[means] < kTries && entry.ns[means] < kHopeless * entry.ns[best]) return means;
  if (entry.uses % kPatience == 0) return (best + 1 + entry.uses / kPatience % (count - 1)) % count;
  return best;
}

void Experience::learn(const MessageKind& kind, std::size_t means, double ns) noexcept {
  Entry& entry = entry_of(kind);
  double& known = entry.ns[means];
  // The least of the first tries; then slowly up, since a descheduled partner says nothing, and quickly down.
  if (entry.tries[means]++ == 0 || ns < known)
    known = ns;
  else if (entry.tries[means] > kTries)
    known += (std::min(ns, 4 * known) - known) / 8;
}

}  // namespace coracle
