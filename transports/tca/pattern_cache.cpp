#include "transports/tca/pattern_cache.hpp"

#include <algorithm>
#include <array>

namespace coracle::internals::tca {
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
