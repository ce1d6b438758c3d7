#include "transports/tca/dma_engine.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace coracle::internals::tca {
namespace {

/// Runs in which a split over so many channels is learned: with four channels, and the first run, ten in all.
unsigned runs_for(unsigned channels, bool widest) noexcept {
  if (channels == 1) return 1;
  return widest ? 6 : 2;
}

}  // namespace

TransferPattern::TransferPattern(const Descriptor& whole, const DeviceRules& rules, unsigned channels_max)
    : whole_(whole), granule_(whole.count > 1 ? 1 : rules.granule), alignment_(rules.alignment) {
  const std::uint64_t units = whole.count > 1 ? whole.count : whole.bytes() / granule_;
  const auto most = static_cast<unsigned>(std::clamp<std::uint64_t>(units, 1, std::min(channels_max, rules.channels)));
  for (unsigned channels = most; channels > 0; channels /= 2)
    widths_.push_back({LearnedSplit(std::span(rules.rates).first(channels), runs_for(channels, channels == most)), 0});
  settled_ = widths_.size() == 1;
}

/// In bytes; of whole blocks, or granules.
std::array<std::uint64_t, TransferPattern::kChannelsMax> TransferPattern::share() const noexcept {
  const LearnedSplit& split = widths_[width_].split;
  if (whole_.count == 1) return split.parts(whole_.block_bytes, alignment_, granule_);
  auto parts = split.parts(whole_.count, 1);
  for (std::uint64_t& part : parts) part *= whole_.block_bytes;
  return parts;
}

bool TransferPattern::prepare(DmaDevice& device) {
  if (uses_ > 0) return false;
  review();
  if (!stale_) return false;
  unload(device);
  const auto shares = share();
  std::uint64_t before = 0;
  for (unsigned i = 0; i < kChannelsMax; before += shares[i++]) {
    if (shares[i] == 0 && (i > 0 || whole_.bytes() > 0)) continue;  // the device says what is wrong with nothing
    Descriptor part = whole_;
    if (whole_.count == 1) {
      part.source += before;
      part.target += before;
      part.block_bytes = shares[i];
    } else {
      part.source = whole_.source_block(before / whole_.block_bytes);
      part.target = whole_.target_block(before / whole_.block_bytes);
      part.count = shares[i] / whole_.block_bytes;
    }
    parts_[i] = {device.load({&part, 1}), shares[i]};
  }
  stale_ = false;
  return true;
}

void TransferPattern::unload(DmaDevice& device) noexcept {
  for (Part& part : parts_) {
    if (part.table.valid()) device.unload(part.table);
    part = {};
  }
  stale_ = true;
}

void TransferPattern::end(const std::array<std::uint64_t, kChannelsMax>& times_ns) noexcept {
  --uses_;
  last_ns_ = *std::max_element(times_ns.begin(), times_ns.end());
  delay_ns_ = 0;
  reviewed_ = false;
  if (widths_.size() == 1) return;
  if (!std::exchange(warm_, true)) {  // it found cold caches, and memory to be pinned: nothing to learn from
    reviewed_ = true;
    return;
  }
  std::array<std::uint64_t, kChannelsMax> bytes{};
  for (unsigned i = 0; i < kChannelsMax; ++i) bytes[i] = parts_[i].bytes;
  Width& width = widths_[width_];
  const bool was_frozen = width.split.frozen();
  const bool changed = width.split.learn(bytes, times_ns);
  if (changed && !width.split.frozen()) stale_ = true;
  if (!was_frozen || width.split.frozen()) return;
  // The pattern takes another time than it did.
  for (Width& each : widths_) each.split.begin_anew();
  width_ = 0;
  settled_ = false;
  stale_ = true;
}

/// What the last run has cost is known only now that another begins: with the wait that it has caused.
void TransferPattern::review() noexcept {
  if (reviewed_ || settled_) return;
  reviewed_ = true;
  Width& width = widths_[width_];
  width.cost_ns = static_cast<double>(last_ns_ + delay_ns_);
  if (width.split.frozen()) next_width();
}

void TransferPattern::next_width() noexcept {
  stale_ = true;
  if (width_ + 1 < widths_.size()) {
    ++width_;
    return;
  }
  // Of those that cost the same, the one that leaves more channels to others.
  width_ = 0;
  for (std::size_t i = 1; i < widths_.size(); ++i)
    if (widths_[i].cost_ns <= widths_[width_].cost_ns) width_ = i;
  settled_ = true;
}

namespace {

std::array<std::uint64_t, 6> words_of(const Descriptor& descriptor) noexcept {
  // The strides of a single block mean nothing.
  const bool strided = descriptor.count > 1;
  return {reinterpret_cast<std::uint64_t>(descriptor.source),
          reinterpret_cast<std::uint64_t>(descriptor.target),
          descriptor.block_bytes,
          descriptor.count,
          strided ? static_cast<std::uint64_t>(descriptor.source_stride) : 0,
          strided ? static_cast<std::uint64_t>(descriptor.target_stride) : 0};
}

}  // namespace

std::size_t PatternCache::Hash::operator()(const Descriptor& descriptor) const noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words_of(descriptor)) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

bool PatternCache::Same::operator()(const Descriptor& left, const Descriptor& right) const noexcept {
  return words_of(left) == words_of(right);
}

PatternCache::~PatternCache() {
  for (TransferPattern& pattern : patterns_) pattern.unload(device_);
}

void PatternCache::make_room() noexcept {
  for (auto last = patterns_.end(); patterns_.size() >= patterns_max_ && last != patterns_.begin();) {
    --last;
    if (last->in_use()) continue;
    last->unload(device_);
    by_transfer_.erase(last->whole());
    last = patterns_.erase(last);
    ++counts_.evictions;
  }
}

TransferPattern& PatternCache::find(const Descriptor& whole) {
  const auto found = by_transfer_.find(whole);
  if (found != by_transfer_.end()) {
    patterns_.splice(patterns_.begin(), patterns_, found->second);
    ++counts_.hits;
  } else {
    make_room();
    patterns_.emplace_front(whole, device_.rules(), channels_max_);
    by_transfer_.emplace(whole, patterns_.begin());
    ++counts_.misses;
  }
  TransferPattern& pattern = patterns_.front();
  try {
    if (pattern.prepare(device_)) ++counts_.builds;
  } catch (...) {
    pattern.unload(device_);
    by_transfer_.erase(whole);
    patterns_.pop_front();
    throw;
  }
  return pattern;
}

}  // namespace coracle::internals::tca
