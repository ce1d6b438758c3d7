// Raw: what the machine itself does when two ranks share memory, without the library. The limits for messages.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "runtime/core/cpu.hpp"

namespace coracle::internals::bench {

/// Waits until `ready()`; leaves the core to others when that takes long (ranks may outnumber cores).
template <class Ready>
void spin_until(Ready ready, std::uint32_t spins_before_yield = 100'000) {
  for (std::uint32_t spins = 0; !ready();)
    if (++spins > spins_before_yield) ::sched_yield();
}

/// A cache line (and the one that the prefetcher takes along) that two ranks hand to each other.
struct alignas(128) RawFlag {
  std::uint64_t word = 0;

  std::uint64_t load() noexcept {
    return std::atomic_ref<std::uint64_t>(word).load(std::memory_order_acquire);  // pairs with store()
  }
  void store(std::uint64_t value) noexcept {
    std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);  // pairs with load()
  }
};

/// `count` times there and back through one flag; before each turn of the flag a side copies `bytes` from the other's
/// memory to its own. Both sides call it at once; the flag is 0 before and after.
inline void raw_ping_pong(RawFlag& flag, bool first, const std::byte* theirs, std::byte* own, std::size_t bytes,
                          std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!first) spin_until([&] { return flag.load() == 1; });
    if (first) flag.store(1);
    if (!first) {
      if (bytes > 0) std::memcpy(own, theirs, bytes);
      flag.store(0);
      continue;
    }
    spin_until([&] { return flag.load() == 0; });
    if (bytes > 0) std::memcpy(own, theirs, bytes);
  }
}

/// Only the flag, `count` times there and back, both sides at once. For telling the machine's state: with a pause
/// between looks, and so as tests/peers/ddt.c does it. Without, two threads of one core, which get in each other's way
/// by looking, take as long as two cores of one cache, where messages take twice as long.
inline void hand_over_line(RawFlag& flag, bool first, std::uint64_t count) {
  const auto await = [&flag](std::uint64_t value) {
    spin_until([&flag, value] {
      const bool is_there = flag.load() == value;
      if (!is_there) cpu_pause();
      return is_there;
    });
  };
  for (; count != 0; --count) {
    if (!first) await(1);
    flag.store(first ? 1 : 0);
    if (first) await(0);
  }
}

/// The simplest stream of 8-byte messages: one sender, one receiver, a cache line per message that holds its own
/// number.
struct RawStream {
  static constexpr std::uint64_t kLines = 1024;
  RawFlag received;
  struct alignas(64) Line {
    std::uint64_t number = 0;  // 1 for the first message
    std::uint64_t payload = 0;
  } lines[kLines];

  void send(std::uint64_t begin, std::uint64_t count) {
    for (std::uint64_t i = begin; i < begin + count; ++i) {
      if (i >= seen_ + kLines) spin_until([&] { return i < (seen_ = received.load()) + kLines; });
      lines[i % kLines].payload = i;
      // release: pairs with the load in receive(), which then sees the payload.
      std::atomic_ref<std::uint64_t>(lines[i % kLines].number).store(i + 1, std::memory_order_release);
    }
  }

  std::uint64_t receive(std::uint64_t begin, std::uint64_t count) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = begin; i < begin + count; ++i) {
      std::atomic_ref<std::uint64_t> number(lines[i % kLines].number);
      spin_until([&] { return number.load(std::memory_order_acquire) == i + 1; });  // pairs with send()
      sum += lines[i % kLines].payload;
      if (i % 64 == 63) received.store(i + 1);
    }
    received.store(begin + count);
    return sum;
  }

 private:
  alignas(128) std::uint64_t seen_ = 0;
};

/// A barrier of one counter; who waits leaves the core to others when ranks outnumber cores.
struct RawBarrier {
  alignas(128) std::uint64_t arrived = 0;
  alignas(128) std::uint64_t generation = 0;

  void wait(std::uint64_t ranks, std::uint32_t spins_before_yield) {
    std::atomic_ref<std::uint64_t> current(generation);
    const std::uint64_t mine = current.load(std::memory_order_relaxed);  // can't change before this rank has arrived
    // acq_rel: the last one sees what all others have done before.
    if (std::atomic_ref<std::uint64_t>(arrived).fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
      std::atomic_ref<std::uint64_t>(arrived).store(0, std::memory_order_relaxed);  // ordered by the store below
      current.store(mine + 1, std::memory_order_release);                           // pairs with the load below
    } else {
      spin_until([&] { return current.load(std::memory_order_acquire) != mine; }, spins_before_yield);
    }
  }
};

}  // namespace coracle::internals::bench
