// Pages of 4 KiB whose content follows from their numbers, so that every read can be checked, and readers of them by
// ordinary loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals::bench {

inline constexpr std::size_t kNumberedPage = 4096;

/// Whole pages from `first` on.
void fill_numbered(std::span<std::byte> pages, std::uint64_t first) noexcept;
/// Reads all words of a page; whether they add up to what they should.
bool is_numbered(const std::byte* page, std::uint64_t number) noexcept;

/// Page numbers below `pages`, in no order; the same for the same seed.
class RandomPages {
 public:
  RandomPages(std::uint64_t pages, std::uint64_t seed) noexcept : pages_(pages), state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;  // splitmix64
    std::uint64_t mixed = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return (mixed ^ (mixed >> 31)) % pages_;
  }

 private:
  std::uint64_t pages_;
  std::uint64_t state_;
};

/// A task for several readers of one file in memory.
struct LoadPlan {
  std::uint64_t pages;  ///< Of the file.
  std::uint64_t count;  ///< To read, each reader.
  std::uint64_t first;  ///< In order from this page on, from the last on to page 0; or the seed of a random order.
  bool random;
};

/// Reads pages of a file that lies at `file`, by ordinary loads; the number of wrong ones.
std::uint64_t load_pages(const std::byte* file, const LoadPlan& plan) noexcept;

}  // namespace coracle::internals::bench
