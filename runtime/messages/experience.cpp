// A table without chains: of two kinds that fall on one place the later is remembered.
#include "runtime/messages/experience.hpp"

#include <algorithm>

namespace coracle::internals {

Experience::Entry& Experience::entry_of(const MessageKind& kind) noexcept {
  // An odd constant of splitmix64 for each part.
  std::uint64_t mixed = (kind.bytes << 20 ^ kind.peer) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(kind.source)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(kind.target)) * 0x94D049BB133111EB;
  Entry& entry = entries_[(mixed ^ mixed >> 32) % kEntries];
  if (entry.kind != kind) entry = {kind};
  return entry;
}

std::uint8_t Experience::next_trial(const Entry& entry, std::size_t count, std::size_t expected) noexcept {
  if (entry.ns[expected] == 0) return static_cast<std::uint8_t>(expected);
  for (std::size_t means = 0; means < count; ++means)
    if (entry.ns[means] == 0) return static_cast<std::uint8_t>(means);
  for (std::size_t means = 0; means < count; ++means)
    if (entry.ns[means] < kBetter * entry.ns[entry.used]) return static_cast<std::uint8_t>(means);
  const bool is_new = entry.uses <= 4 * kPatienceAtFirst && entry.ns[entry.used] < kLongNs;
  const std::uint32_t patience = is_new ? kPatienceAtFirst : kPatience;
  if (entry.uses % patience != 0) return kNone;
  return static_cast<std::uint8_t>((entry.used + 1 + entry.uses / patience % (count - 1)) % count);
}

std::size_t Experience::choose(const MessageKind& kind, std::size_t count, std::size_t expected) noexcept {
  Entry& entry = entry_of(kind);
  ++entry.uses;
  if (entry.tried == kNone) {
    entry.tried = next_trial(entry, count, expected);
    entry.samples = 0;
  }
  return entry.tried != kNone ? entry.tried : entry.used;
}

void Experience::end_trial(Entry& entry) noexcept {
  const auto first = entry.sampled_ns.begin();
  const auto last = first + entry.samples;
  // Of one alone that one, else without the first, which found the lines elsewhere.
  const auto counted = first + (entry.samples > 1 ? 1 : 0);
  const auto middle = counted + (last - counted) / 2;
  std::nth_element(counted, middle, last);
  const double ns = *middle;
  entry.ns[entry.tried] = ns;
  if (entry.used == kNone || ns < kBetter * entry.ns[entry.used]) entry.used = entry.tried;
  entry.tried = kNone;
}

void Experience::learn(const MessageKind& kind, std::size_t means, double ns) noexcept {
  Entry& entry = entry_of(kind);
  if (means == entry.tried) {
    entry.sampled_ns[entry.samples++] = ns;
    const bool hopeless = entry.used != kNone && ns > kHopeless * entry.ns[entry.used];
    if (entry.samples >= (ns < kLongNs ? kTried : kTriedLong) || hopeless) end_trial(entry);
    return;
  }
  if (means != entry.used) return;
  // Slowly, and a descheduled partner says nothing.
  double& known = entry.ns[means];
  known += (std::min(ns, 2 * known) - known) / 16;
}

}  // namespace coracle::internals
