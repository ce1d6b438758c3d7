// Pages of 4 KiB whose content follows from their numbers, so that every read can be checked, and readers of them by
// ordinary loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/common/split_mix.hpp"

namespace coracle::internals::bench {

inline constexpr std::size_t kNumberedPage = 4096;

/// Whole pages from `first` on.
void fill_numbered(std::span<std::byte> pages, std::uint64_t first) noexcept;
/// Reads all words of a page; whether they add up to what they should.
bool is_numbered(const std::byte* page, std::uint64_t number) noexcept;

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
