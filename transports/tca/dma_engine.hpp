// DmaEngine: gives transfers to a device's channels, and tells when they are over. Each channel has a queue; what is
// repeated comes from the cache of patterns.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/core/events.hpp"
#include "runtime/core/timer.hpp"
#include "transports/tca/dma_device.hpp"
#include "transports/tca/transfer_pattern.hpp"

namespace coracle::internals::tca {

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
