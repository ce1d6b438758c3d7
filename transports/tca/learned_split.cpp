#include "transports/tca/dma_engine.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/core/assert.hpp"

namespace coracle::internals::tca {

LearnedSplit::LearnedSplit(std::span<const double> rates, unsigned runs_max) noexcept
    : channels_(static_cast<unsigned>(rates.size())), runs_max_(runs_max) {
  CORACLE_ASSERT(channels_ > 0 && channels_ <= kChannelsMax, "{} channels", rates.size());
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (unsigned i = 0; i < channels_; ++i) weights_[i] = rates[i] / sum;
}

std::array<std::uint64_t, LearnedSplit::kChannelsMax> LearnedSplit::parts(std::uint64_t bytes, std::uint64_t alignment,
                                                                          std::uint64_t least) const noexcept {
  std::array<std::uint64_t, kChannelsMax> parts{};
  std::uint64_t given = 0;
  double until = 0;
  for (unsigned i = 0; i + 1 < channels_; ++i) {
    until += weights_[i];
    const auto end = static_cast<std::uint64_t>(std::llround(until * static_cast<double>(bytes)));
    const std::uint64_t aligned = std::min(bytes, end / alignment * alignment);
    parts[i] = aligned >= given + least ? aligned - given : 0;
    given += parts[i];
  }
  parts[channels_ - 1] = bytes - given;
  return parts;
}

bool LearnedSplit::learn(std::span<const std::uint64_t> parts, std::span<const std::uint64_t> times_ns) noexcept {
  const std::uint64_t whole_ns = *std::max_element(times_ns.begin(), times_ns.begin() + channels_);
  if (frozen_) return watch(whole_ns);
  // Bytes per time, for this pattern: the time to start is part of it, so that equal times come out at the end.
  std::array<double, kChannelsMax> next{};
  double rates = 0;
  double used = 0;
  for (unsigned i = 0; i < channels_; ++i) {
    if (parts[i] == 0 || times_ns[i] == 0) continue;
    next[i] = static_cast<double>(parts[i]) / static_cast<double>(times_ns[i]);
    rates += next[i];
    used += weights_[i];
  }
  if (rates == 0) return false;
  double sum = 0;
  for (unsigned i = 0; i < channels_; ++i) {
    next[i] = std::max(kFloor, next[i] > 0 ? next[i] / rates * used : weights_[i]);
    sum += next[i];
  }
  double change = 0;
  for (unsigned i = 0; i < channels_; ++i) {
    next[i] /= sum;
    change = std::max(change, std::abs(next[i] - weights_[i]));
  }
  weights_ = next;
  frozen_ = ++runs_ >= runs_max_ || change < kConverged;
  if (frozen_) learned_ns_ = whole_ns;
  return true;
}

bool LearnedSplit::watch(std::uint64_t time_ns) noexcept {
  const double change = std::abs(static_cast<double>(time_ns) / static_cast<double>(learned_ns_) - 1);
  strange_runs_ = change > kDrift ? strange_runs_ + 1 : 0;
  if (strange_runs_ < kDriftRuns) return false;
  ++drifts_;
  begin_anew();
  return false;
}

void LearnedSplit::begin_anew() noexcept {
  frozen_ = false;
  strange_runs_ = 0;
  runs_ = 0;
}

}  // namespace coracle::internals::tca
