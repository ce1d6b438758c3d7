// PatternCache: the transfers that were made last, with their tables: who repeats one builds nothing. Bounded: the
// least recently used goes.
//
// Source: the descriptor cache of the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "transports/tca/transfer_pattern.hpp"

namespace coracle::internals::tca {

class PatternCache {
 public:
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions = 0;
    std::uint64_t builds = 0;  ///< How often tables were built: for a new pattern, and when its parts have changed.
  };

  /// `device` must outlive the cache. `patterns_max`: at least 1.
  PatternCache(DmaDevice& device, std::size_t patterns_max, unsigned channels_max) noexcept
      : device_(device), patterns_max_(patterns_max), channels_max_(channels_max) {}
  /// No pattern may be in use.
  ~PatternCache();
  PatternCache(const PatternCache&) = delete;
  PatternCache& operator=(const PatternCache&) = delete;

  /// The pattern of a transfer, ready to run; it stays until another find(), or as long as it is in use. Throws Error
  /// when the device refuses it.
  TransferPattern& find(const Descriptor& whole);
  const Counts& counts() const noexcept { return counts_; }

 private:
  struct Hash {
    std::size_t operator()(const Descriptor& descriptor) const noexcept;
  };
  struct Same {
    bool operator()(const Descriptor& left, const Descriptor& right) const noexcept;
  };
  using Patterns = std::list<TransferPattern>;

  void make_room() noexcept;

  DmaDevice& device_;
  std::size_t patterns_max_;
  unsigned channels_max_;
  Patterns patterns_;  // the last used first
  std::unordered_map<Descriptor, Patterns::iterator, Hash, Same> by_transfer_;
  Counts counts_;
};

}  // namespace coracle::internals::tca
