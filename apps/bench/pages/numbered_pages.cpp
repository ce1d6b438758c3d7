// The word at place i is i times a constant: then a page's sum is known without another table.
#include "apps/bench/pages/numbered_pages.hpp"

#include <cstring>

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kWords = kNumberedPage / 8;

}  // namespace

void fill_numbered(std::span<std::byte> pages, std::uint64_t first) noexcept {
  for (std::size_t i = 0; i < pages.size() / 8; ++i) {
    const std::uint64_t word = (first * kWords + i) * kFactor;
    std::memcpy(pages.data() + i * 8, &word, 8);
  }
}

bool is_numbered(const std::byte* page, std::uint64_t number) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    std::uint64_t word;
    std::memcpy(&word, page + i * 8, 8);
    sum += word;
  }
  return sum == (number * kWords * kWords + kWords * (kWords - 1) / 2) * kFactor;
}

std::uint64_t load_pages(const std::byte* file, const LoadPlan& plan) noexcept {
  SplitMix64 random(plan.first);
  std::uint64_t next = plan.first;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    const std::uint64_t page = plan.random ? random.below(plan.pages) : next++ % plan.pages;
    if (!is_numbered(file + page * kNumberedPage, page)) ++wrong;
  }
  return wrong;
}

}  // namespace coracle::internals::bench
