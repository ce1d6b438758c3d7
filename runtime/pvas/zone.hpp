// Which granules of an address range a task has given out: a bitmap without locks, because a lock could be held by a
// thread that is killed, forked away from, or interrupted by a handler that maps memory too. The kernel is the judge:
// mappings are made without replacing, so a stale bit costs room or one more try, never memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::internals::pvas {

/// Plain data in the control block; `words` has (count + 63) / 64 zeroed words. Any thread of the task.
/// All accesses are relaxed: a bit guards no other memory of ours, and what it stands for is ordered by the kernel's
/// own lock around the address space.
struct Zone {
  static constexpr std::uint64_t kNone = ~0ULL;

  std::uint64_t begin = 0;
  std::uint64_t granule_bytes = 1;
  std::uint64_t count = 0;
  std::uint64_t* words = nullptr;

  std::uint64_t end() const noexcept { return begin + count * granule_bytes; }
  bool contains(std::uint64_t address) const noexcept { return address >= begin && address < end(); }
  std::uint64_t index_of(std::uint64_t address) const noexcept { return (address - begin) / granule_bytes; }

  /// Claims the lowest free run of `run` granules that begins at a multiple of `alignment` granules and, when `run` is
  /// smaller than `fence`, crosses no multiple of `fence`. Returns its address or kNone.
  std::uint64_t claim(std::uint64_t run, std::uint64_t alignment, std::uint64_t fence) noexcept {
    std::uint64_t first = 0;
    while (true) {
      first = next(first, false);
      first = (first + alignment - 1) / alignment * alignment;
      if (run < fence && first / fence != (first + run - 1) / fence) first = (first / fence + 1) * fence;
      if (first >= count || run > count - first) return kNone;
      const std::uint64_t taken = next(first, true);
      if (taken >= first + run && claim_at(first, run)) return begin + first * granule_bytes;
      first = taken >= first + run ? first + 1 : taken;
    }
  }

  /// Claims exactly these granules; false, and nothing claimed, when one is taken.
  bool claim_at(std::uint64_t first, std::uint64_t run) noexcept {
    if (first >= count || run > count - first) return false;
    for (std::uint64_t at = first; at < first + run;) {
      const std::uint64_t mask = mask_at(at, first + run);
      const std::uint64_t before = word(at).fetch_or(mask, std::memory_order_relaxed);
      if ((before & mask) != 0) {
        word(at).fetch_and(~(mask & ~before), std::memory_order_relaxed);
        clear(first, at - first);
        return false;
      }
      at = (at / 64 + 1) * 64;
    }
    return true;
  }

  void mark(std::uint64_t first, std::uint64_t run) noexcept {
    for (std::uint64_t at = first; at < first + run; at = (at / 64 + 1) * 64) {
      word(at).fetch_or(mask_at(at, first + run), std::memory_order_relaxed);
    }
  }

  void clear(std::uint64_t first, std::uint64_t run) noexcept {
    for (std::uint64_t at = first; at < first + run; at = (at / 64 + 1) * 64) {
      word(at).fetch_and(~mask_at(at, first + run), std::memory_order_relaxed);
    }
  }

 private:
  std::atomic_ref<std::uint64_t> word(std::uint64_t index) const noexcept {
    return std::atomic_ref<std::uint64_t>(words[index / 64]);
  }

  /// The bits of the word of `at` from `at` up to `end`.
  static std::uint64_t mask_at(std::uint64_t at, std::uint64_t end) noexcept {
    const std::uint64_t low = at % 64;
    const std::uint64_t wanted = end - at;
    const std::uint64_t ones = wanted >= 64 ? ~0ULL : (1ULL << wanted) - 1;
    return ones << low;
  }

  /// The first granule at or behind `from` that is taken (or free); `count` when there is none.
  std::uint64_t next(std::uint64_t from, bool taken) const noexcept {
    for (std::uint64_t at = from; at < count; at = (at / 64 + 1) * 64) {
      std::uint64_t bits = word(at).load(std::memory_order_relaxed);
      if (!taken) bits = ~bits;
      bits &= ~0ULL << (at % 64);
      if (bits == 0) continue;
      const std::uint64_t found = at / 64 * 64 + static_cast<std::uint64_t>(__builtin_ctzll(bits));
      return found < count ? found : count;
    }
    return count;
  }
};

}  // namespace coracle::internals::pvas
