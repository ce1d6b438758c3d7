// ColdReads: whether senders have written to their buffers since they sent them last, as their receiver sees from how
// long it takes to read messages there: written to, a line comes from the sender's cache; else it is here from the time
// before. What comes is taken for a sign of what goes, as long as such come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace coracle::internals {

/// Of one rank; its thread only.
class ColdReads {
 public:
  /// `fixed_ns`: what a message takes beside its lines.
  explicit ColdReads(std::uint64_t fixed_ns) noexcept : fixed_ns_(fixed_ns) {}

  /// Whether was_read() wants to know of the next one: now and then, since to look at a clock takes time, too.
  bool wants_time() noexcept { return cold_ > 0 || ++untimed_ % kTimedEvery == 0; }
  /// `bytes` were read in their sender's own buffer, in `ns`.
  void was_read(std::size_t bytes, std::uint64_t ns) noexcept {
    const bool is_cold = ns > fixed_ns_ + bytes / 64 * kWarmLineNs;
    cold_ = is_cold ? std::min(cold_ + 1, kColdMax) : std::max(cold_ - 1, 0);
    unconfirmed_ = 0;
  }
  /// One was, at a price as if all its lines had come from far away.
  void was_fetched() noexcept {
    cold_ = std::min(cold_ + 1, kColdMax);
    unconfirmed_ = 0;
  }
  /// The next message had better be copied to where its lines need not come back from. Some are not, so that their
  /// reader learns when nobody writes to the buffers any more.
  bool should_be_copied() noexcept {
    if (cold_ < kColdMax - 1) return false;
    if (++unconfirmed_ > kUnconfirmedMax) cold_ = 0;
    return ++copied_ % kLeftOutEvery != 0;
  }

 private:
  static constexpr int kColdMax = 3;
  static constexpr unsigned kTimedEvery = 8;
  static constexpr unsigned kLeftOutEvery = 32;
  static constexpr unsigned kUnconfirmedMax = 4 * kLeftOutEvery;
  /// Measured: a line takes 1.2 to 1.5 ns that is here, 1.8 to 2.7 in a row from a core with the same last-level cache
  /// (AMD Zen), 5 to 14 from others (AMD Zen, Intel Sapphire Rapids).
  static constexpr std::uint64_t kWarmLineNs = 3;

  std::uint64_t fixed_ns_;
  int cold_ = 0;  // messages of late that came out of a buffer which had been written to
  unsigned untimed_ = 0;
  unsigned copied_ = 0;
  unsigned unconfirmed_ = 0;
};

}  // namespace coracle::internals
