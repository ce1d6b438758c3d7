// DmaEngine: gives transfers to a device's channels, and tells when they are over. Each channel has a queue; what is
// repeated comes from the cache of patterns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/core/events.hpp"
#include "runtime/core/timer.hpp"
#include "transports/tca/dma_device.hpp"

namespace coracle::internals::tca {

/// Which part of a transfer each channel gets. The parts begin equal, or as the channels' rates are, and follow the
/// times that the channels have taken for theirs, until all take as long.
///
/// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016), which learns for a limited number of runs and keeps the sizes
/// with the cached table. Added: a floor, so that a channel whose time was bad once comes back; and learning anew when
/// the pattern's time has changed for good.
class LearnedSplit {
 public:
  static constexpr unsigned kChannelsMax = 8;
  static constexpr unsigned kRunsMax = 10;
  static constexpr double kFloor = 0.02;
  /// Learning ends when no weight has changed by more than this.
  static constexpr double kConverged = 0.005;
  /// It begins anew after so many runs in a row whose times differ from the learned one by more than a part of it.
  static constexpr unsigned kDriftRuns = 4;
  static constexpr double kDrift = 0.15;

  /// `rates`: of the channels by themselves, in any unit, or equal ones; at most kChannelsMax, none of them 0.
  /// `runs_max`: learning ends at the latest after so many.
  explicit LearnedSplit(std::span<const double> rates, unsigned runs_max = kRunsMax) noexcept;

  unsigned channels() const noexcept { return channels_; }
  double weight(unsigned channel) const noexcept { return weights_[channel]; }
  /// How much of `bytes` each channel gets: multiples of `alignment`, and at least `least` or nothing, but for the
  /// last. The sum is `bytes`.
  std::array<std::uint64_t, kChannelsMax> parts(std::uint64_t bytes, std::uint64_t alignment,
                                                std::uint64_t least = 1) const noexcept;
  /// A run is over in which the channels have taken so long for these parts (0 bytes: not used; its weight stays).
  /// True when the weights have changed.
  bool learn(std::span<const std::uint64_t> parts, std::span<const std::uint64_t> times_ns) noexcept;

  /// Learns again, beginning with the weights as they are.
  void begin_anew() noexcept;

  bool frozen() const noexcept { return frozen_; }
  /// Since it has begun, or begun anew.
  unsigned runs() const noexcept { return runs_; }
  /// How often it has begun anew.
  unsigned drifts() const noexcept { return drifts_; }

 private:
  bool watch(std::uint64_t time_ns) noexcept;

  unsigned channels_;
  unsigned runs_max_;
  unsigned runs_ = 0;
  unsigned drifts_ = 0;
  unsigned strange_runs_ = 0;  // in a row
  bool frozen_ = false;
  std::uint64_t learned_ns_ = 0;  // of a whole run, when frozen
  std::array<double, kChannelsMax> weights_{};
};

/// A transfer that is made again and again, and what has been learned of it: over how many channels it goes, which part
/// each gets, and the tables that say so to the device.
///
/// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): descriptor cache and learned split. Its Himeno result, that four
/// channels can cost more than they gain since each has to stop before it can be started again, is measured here: what
/// the next transfer had to wait for a pattern's channels is part of the pattern's cost.
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

/// What the engine is given to do. It must live until it has ended.
class DmaTransfer {
 public:
  /// The bytes are where they belong; or not (`worked`): the device has failed again and again, see
  /// DmaEngine::last_failure(). It may be given to the engine anew, or end its life.
  virtual void ended(bool worked) noexcept = 0;
  /// Once it has ended: whether some of its bytes found that their memory had been withdrawn, and were left out.
  bool left_out() const noexcept { return left_out_; }

 protected:
  DmaTransfer() = default;
  ~DmaTransfer() = default;

 private:
  friend class DmaEngine;
  /// In a channel's queue.
  struct Part {
    DmaTransfer* transfer = nullptr;
    Part* next = nullptr;
    TableId table;
    unsigned tries = 0;
    bool unloads = false;  // the table, when it is over
  };
  std::array<Part, LearnedSplit::kChannelsMax> parts_;
  std::array<std::uint64_t, LearnedSplit::kChannelsMax> times_ns_{};
  TransferPattern* pattern_ = nullptr;
  unsigned pending_ = 0;
  bool worked_ = true;
  bool left_out_ = false;
};

struct DmaOptions {
  std::size_t patterns_max = 1024;
  unsigned channels_max = LearnedSplit::kChannelsMax;
  /// A table that takes longer than this is aborted, and tried again.
  std::uint64_t stall_limit_ns = 500'000'000;
  unsigned tries_max = 3;
};

class DmaEngine {
 public:
  struct Counts {
    std::uint64_t doorbells = 0;
    std::uint64_t stalls = 0;  ///< Tables that were aborted.
  };

  /// Both must outlive the engine.
  DmaEngine(DmaDevice& device, const Clock& clock, const DmaOptions& options = {});
  /// Aborts what is on its way.
  ~DmaEngine();
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;

  DmaDevice& device() noexcept { return device_; }
  /// Before the first transfer; null: no tool is told of tables.
  void set_events(Events* events) noexcept { events_ = events; }
  /// Copies in any order, over as many channels as is best. Throws Error when the device refuses it.
  void copy(const Descriptor& whole, DmaTransfer& transfer);
  /// Carries out the chain on one channel, in order, also with what went there before. Nothing of it is kept.
  void run(Chain chain, unsigned channel, DmaTransfer& transfer);
  /// Likewise a table of the caller's, who unloads it when it is over.
  void run_table(TableId table, unsigned channel, DmaTransfer& transfer) noexcept;
  /// Ends transfers, starts others. True when it has done either.
  bool poll() noexcept;
  /// When poll() must be called at the latest, though the device has nothing to tell; ~0: never.
  std::uint64_t deadline_ns() const noexcept;
  bool busy() const noexcept { return in_flight_ > 0; }
  const Counts& counts() const noexcept { return counts_; }
  const PatternCache::Counts& cache_counts() const noexcept { return cache_.counts(); }
  const std::string& last_failure() const noexcept { return last_failure_; }

 private:
  using Part = DmaTransfer::Part;
  struct Queue {
    Part* first = nullptr;  // at work, if `sequence` is not 0
    Part* last = nullptr;
    std::uint64_t sequence = 0;
    std::uint64_t started_ns = 0;
    std::uint64_t waits_since_ns = 0;   // until the controller has stopped; 0: it does not wait
    TransferPattern* before = nullptr;  // whose part this channel did last
  };

  void forget_patterns() noexcept;
  void run(const Part& part, unsigned channel) noexcept;
  void enqueue(unsigned channel, const Part& part) noexcept;
  bool start_next(unsigned channel) noexcept;
  bool finish_first(unsigned channel) noexcept;
  void end_part(unsigned channel, bool worked) noexcept;
  void tell(coracle_event_kind kind, unsigned channel) noexcept;
  bool retry(unsigned channel, std::string failure) noexcept;

  DmaDevice& device_;
  const Clock& clock_;
  Events* events_ = nullptr;
  const DmaOptions options_;
  PatternCache cache_;
  std::array<Queue, LearnedSplit::kChannelsMax> queues_;
  unsigned channels_;
  std::uint64_t sequence_ = 0;
  std::size_t in_flight_ = 0;
  Counts counts_;
  std::string last_failure_;
};

}  // namespace coracle::internals::tca
