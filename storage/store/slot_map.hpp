// SlotMap: which slots of a file hold pages that something still needs: the present state, what was flushed last, the
// checkpoints. A slot that nothing needs is free.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace coracle::internals::storage {

/// A set of numbers below a bound.
class BitSet {
 public:
  explicit BitSet(std::uint64_t bound = 0) : words_((bound + 63) / 64) {}

  bool has(std::uint64_t bit) const noexcept { return (words_[bit / 64] >> (bit % 64) & 1) != 0; }
  void add(std::uint64_t bit) noexcept { words_[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void remove(std::uint64_t bit) noexcept { words_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64)); }
  void add_all(const BitSet& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void clear() noexcept { words_.assign(words_.size(), 0); }
  void widen(std::uint64_t bound) { words_.resize((bound + 63) / 64); }

  std::size_t words() const noexcept { return words_.size(); }
  std::uint64_t word(std::size_t index) const noexcept { return words_[index]; }
  /// Calls `body(bit)` for each, ascending.
  template <class Body>
  void for_each(Body body) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1)
        body(i * 64 + static_cast<unsigned>(__builtin_ctzll(left)));
  }
  std::uint64_t count() const noexcept {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words_) count += static_cast<unsigned>(__builtin_popcountll(word));
    return count;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// present: where pages are now, and what is being written. flushing: what the commit under way makes durable. flushed:
/// what a crash would find. last, previous: the checkpoints.
enum class SlotUse : std::uint8_t { present, flushing, flushed, last, previous };

class SlotMap {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t slots() const noexcept { return slots_; }
  void widen(std::uint64_t slots) {
    slots_ = slots;
    for (BitSet& each : uses_) each.widen(slots);
  }

  BitSet& of(SlotUse use) noexcept { return uses_[static_cast<std::size_t>(use)]; }
  /// After slots have been taken out of any use but `present`.
  void freed() noexcept { first_ = 0; }

  /// The lowest free slot, which is now present; kNone when there is none. Low slots have been written before, which
  /// makes them quicker to write, and keep the file short.
  std::uint64_t take() noexcept {
    for (std::size_t i = first_; i < uses_[0].words(); ++i) {
      std::uint64_t used = 0;
      for (const BitSet& each : uses_) used |= each.word(i);
      if (~used == 0) continue;
      first_ = i;
      const std::uint64_t slot = i * 64 + static_cast<unsigned>(__builtin_ctzll(~used));
      if (slot >= slots_) break;
      of(SlotUse::present).add(slot);
      return slot;
    }
    return kNone;
  }
  void give_back(std::uint64_t slot) noexcept {
    of(SlotUse::present).remove(slot);
    first_ = std::min<std::size_t>(first_, slot / 64);
  }

 private:
  std::array<BitSet, 5> uses_;
  std::uint64_t slots_ = 0;
  std::size_t first_ = 0;  // no word before it has a free slot
};

}  // namespace coracle::internals::storage
