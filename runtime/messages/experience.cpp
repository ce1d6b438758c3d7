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

/// Of those that have been tried.
std::size_t Experience::best_of(const Entry& entry) noexcept {
  std::size_t best = kMeans;
  for (std::size_t means = 0; means < kMeans; ++means)
    if (entry.tried[means] && (best == kMeans || entry.ns[means] < entry.ns[best])) best = means;
  return best;
}

std::size_t Experience::choose(const MessageKind& kind, std::size_t count, std::size_t expected) noexcept {
  Entry& entry = entry_of(kind);
  if (entry.tries_left > 0 && entry.trying < count) return entry.trying;
  const std::size_t best = best_of(entry);
  std::size_t next = best == kMeans ? expected : count;
  for (std::size_t means = 0; means < count && next == count; ++means)
    if (!entry.tried[means]) next = means;
  if (next == count) {
    if (++entry.uses < kPatience || count == 1) return best;
    entry.uses = 0;
    next = (best + 1 + entry.chances++ % (count - 1)) % count;
  }
  entry.trying = next;
  entry.tries_left = kTries;
  return next;
}

void Experience::learn(const MessageKind& kind, std::size_t means, double ns) noexcept {
  Entry& entry = entry_of(kind);
  const std::size_t best = best_of(entry);
  const double least = best == kMeans ? ns : entry.ns[best];
  double& known = entry.ns[means];
  const bool tries = entry.tries_left > 0 && means == entry.trying;
  // The least of the tries; then slowly up, since a descheduled partner says nothing, and quickly down.
  if (!entry.tried[means] || ns < known)
    known = ns;
  else if (!tries)
    known += (std::min(ns, 4 * known) - known) / 8;
  entry.tried[means] = true;
  if (!tries) return;
  const bool first = entry.tries_left-- == kTries;
  if (means != best && ns > (first ? kHopelessAtFirst : kHopeless) * least) entry.tries_left = 0;
}

}  // namespace coracle
