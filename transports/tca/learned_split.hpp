// LearnedSplit: which part of a transfer each channel gets. The parts begin equal, or as the channels' rates are, and
// follow the times that the channels have taken for theirs, until all take as long.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016), which learns for a limited number of runs and keeps the sizes
// with the cached table. Added: a floor, so that a channel whose time was bad once comes back; and learning anew when
// the pattern's time has changed for good.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace coracle::internals::tca {

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

}  // namespace coracle::internals::tca
