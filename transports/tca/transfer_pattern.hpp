// TransferPattern: a transfer that is made again and again, and what has been learned of it: over how many channels it
// goes, which part each gets, and the tables that say so to the device.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): descriptor cache and learned split. Its Himeno result, that four
// channels can cost more than they gain since each has to stop before it can be started again, is measured here: what
// the next transfer had to wait for a pattern's channels is part of the pattern's cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "transports/tca/dma_device.hpp"
#include "transports/tca/learned_split.hpp"

namespace coracle::internals::tca {

class TransferPattern {
 public:
  static constexpr unsigned kChannelsMax = LearnedSplit::kChannelsMax;

  /// One channel's share.
  struct Part {
    TableId table;  // not valid: nothing
    std::uint64_t bytes = 0;
  };

  /// `channels_max`: it goes over no more.
  TransferPattern(const Descriptor& whole, const DeviceRules& rules, unsigned channels_max);

  const Descriptor& whole() const noexcept { return whole_; }
  /// Before a run: brings the tables up to date, unless another run goes on. Throws Error when the device refuses.
  /// True when it has built any.
  bool prepare(DmaDevice& device);
  const std::array<Part, kChannelsMax>& parts() const noexcept { return parts_; }
  /// Between begin() and end() the tables stay.
  void begin() noexcept { ++uses_; }
  /// A run is over, in which each channel took so long for its part.
  void end(const std::array<std::uint64_t, kChannelsMax>& times_ns) noexcept;
  /// The next transfer of a channel had to wait for so long until the controller had stopped after this pattern.
  void delayed_next(std::uint64_t wait_ns) noexcept { delay_ns_ = wait_ns > delay_ns_ ? wait_ns : delay_ns_; }
  bool in_use() const noexcept { return uses_ > 0; }
  /// Only when it is not in use.
  void unload(DmaDevice& device) noexcept;

 private:
  struct Width {
    LearnedSplit split;
    double cost_ns;
  };

  void review() noexcept;
  void next_width() noexcept;
  std::array<std::uint64_t, kChannelsMax> share() const noexcept;

  Descriptor whole_;
  std::uint64_t granule_;
  std::uint64_t alignment_;
  std::vector<Width> widths_;  // the widest first
  std::size_t width_ = 0;      // in use
  bool settled_ = false;
  bool warm_ = false;     // it has run before
  bool stale_ = true;     // the tables are not what the split says
  bool reviewed_ = true;  // the last run's cost has been looked at
  unsigned uses_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t delay_ns_ = 0;
  std::array<Part, kChannelsMax> parts_{};
};

/// The transfers that were made last, with their tables: who repeats one builds nothing. Bounded: the least recently
/// used goes.
///
/// Source: the descriptor cache of the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016).
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
