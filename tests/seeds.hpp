// Seeds: which seeds a test goes through. Half of them are the same in every run, so that what once was found stays
// found; the others move on every day, so that the suite does not see the same thousand for ever. What a contributor
// runs before a commit (CORACLE_TESTS=brief, see ./check) goes through an eighth of them.
#pragma once

#include <doctest/doctest.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/brief.hpp"

namespace coracle::internals::test {

class Seeds {
 public:
  /// `count` in all. The environment's `variable` chooses others in their place: FIRST, or FIRST:COUNT.
  Seeds(const char* variable, std::uint64_t count) : variable_(variable) {
    if (const char* wanted = std::getenv(variable)) {
      take(wanted);
      return;
    }
    if (is_brief()) count = (count + 7) / 8;
    add(1, count - count / 2);
    const std::uint64_t first = first_of(today());
    add(first, count / 2);
    MESSAGE("seeds 1 to ", count - count / 2, ", and today's ", count / 2, ": ", variable_, "=", first, ":", count / 2);
  }

  auto begin() const noexcept { return seeds_.begin(); }
  auto end() const noexcept { return seeds_.end(); }
  std::uint64_t size() const noexcept { return seeds_.size(); }
  /// False where somebody repeats one or a few: how many of them find this or that then says nothing.
  bool are_many() const noexcept { return seeds_.size() >= 500; }
  /// For a failure: what to say to see it again, on any day.
  std::string repeat(std::uint64_t seed) const { return "repeat it with " + variable_ + "=" + std::to_string(seed); }

  /// Of the day of that number since 1970, by UTC: no two days have any seed in common, nor has any of the fixed ones.
  static std::uint64_t first_of(std::uint64_t day) noexcept { return day * 10'000; }

 private:
  static std::uint64_t today() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::days>(now).count());
  }

  void take(const char* wanted) {
    const char* const end = wanted + std::strlen(wanted);
    std::uint64_t first = 0;
    std::uint64_t count = 1;
    std::from_chars_result read = std::from_chars(wanted, end, first);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == ':') read = std::from_chars(read.ptr + 1, end, count);
    if (read.ec != std::errc() || read.ptr != end)
      FAIL(variable_, "=", std::string(wanted), " is neither a seed nor FIRST:COUNT, such as 1000:50");
    add(first, count);
  }

  void add(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) seeds_.push_back(first + i);
  }

  std::string variable_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace coracle::internals::test
