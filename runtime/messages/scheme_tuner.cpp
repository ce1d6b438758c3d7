// A table without chains: of two kinds that fall on one place the later is remembered.
#include "runtime/messages/scheme_tuner.hpp"

#include <algorithm>

namespace coracle::internals {

SchemeTuner::Entry& SchemeTuner::entry_of(const MessageClass& message_class) noexcept {
  // An odd constant of splitmix64 for each part.
  std::uint64_t mixed = (message_class.bytes << 20 ^ message_class.peer) * 0x9E3779B97F4A7C15;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(message_class.source)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ reinterpret_cast<std::uintptr_t>(message_class.target)) * 0x94D049BB133111EB;
  Entry& entry = entries_[(mixed ^ mixed >> 32) % kEntries];
  if (entry.message_class != message_class) entry = {message_class};
  return entry;
}

std::uint8_t SchemeTuner::next_trial(const Entry& entry, std::size_t count, std::size_t expected) noexcept {
  if (entry.ns[expected] == 0) return static_cast<std::uint8_t>(expected);
  for (std::size_t scheme = 0; scheme < count; ++scheme)
    if (entry.ns[scheme] == 0) return static_cast<std::uint8_t>(scheme);
  for (std::size_t scheme = 0; scheme < count; ++scheme)
    if (entry.ns[scheme] < kBetter * entry.ns[entry.used]) return static_cast<std::uint8_t>(scheme);
  const bool is_new = entry.uses <= 4 * kPatienceAtFirst && entry.ns[entry.used] < kLongNs;
  const std::uint32_t patience = is_new ? kPatienceAtFirst : kPatience;
  if (entry.uses % patience != 0) return kNone;
  return static_cast<std::uint8_t>((entry.used + 1 + entry.uses / patience % (count - 1)) % count);
}

std::size_t SchemeTuner::choose(const MessageClass& message_class, std::size_t count, std::size_t expected) noexcept {
  Entry& entry = entry_of(message_class);
  ++entry.uses;
  if (entry.tried == kNone) {
    entry.tried = next_trial(entry, count, expected);
    entry.samples = 0;
  }
  return entry.tried != kNone ? entry.tried : entry.used;
}

void SchemeTuner::end_trial(Entry& entry) noexcept {
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

void SchemeTuner::learn(const MessageClass& message_class, std::size_t scheme, double ns) noexcept {
  Entry& entry = entry_of(message_class);
  if (scheme == entry.tried) {
    entry.sampled_ns[entry.samples++] = ns;
    const bool hopeless = entry.used != kNone && ns > kHopeless * entry.ns[entry.used];
    if (entry.samples >= (ns < kLongNs ? kTried : kTriedLong) || hopeless) end_trial(entry);
    return;
  }
  if (scheme != entry.used) return;
  // Slowly, and a descheduled partner says nothing.
  double& known = entry.ns[scheme];
  known += (std::min(ns, 2 * known) - known) / 16;
}

}  // namespace coracle::internals
