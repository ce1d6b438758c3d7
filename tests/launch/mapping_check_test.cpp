// What the first rank of a job in one address space is taken to need, also where the machine is slow.
#include "runtime/launch/mapping_check.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "runtime/core/error.hpp"

namespace mapping_check_test {

using coracle::internals::Error;
using coracle::internals::MappingCheck;
using coracle::internals::ProcessState;

namespace {

constexpr std::size_t kLimit = 65'530;
constexpr std::size_t kBefore = 200;
constexpr int kLooks = 200;  // of one second

ProcessState state(char letter, std::uint64_t processor_ms) {
  ProcessState state;
  state.letter = letter;
  state.processor_ms = processor_ms;
  return state;
}

std::string refusal(const MappingCheck& check, std::uint32_t ranks) {
  try {
    check.refuse(ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("mapping check: a first rank that waits for a processor or a disk is waited for") {
  for (const char waits : {'R', 'D'}) {
    CAPTURE(waits);
    MappingCheck check(kLimit, kBefore);
    CHECK_FALSE(check.has_started(kBefore + 2, state(waits, 0)));
    for (int i = 0; i < kLooks; ++i) CHECK_FALSE(check.has_started(kBefore + 2, state(waits, 10)));
    CHECK_FALSE(check.has_started(kBefore + 76, state('R', 20)));
    bool started = false;
    for (int i = 0; i < kLooks && !started; ++i) started = check.has_started(kBefore + 76, state('S', 20));
    CHECK(started);
    CHECK(refusal(check, 4000).find("room for 816 ranks") != std::string::npos);
    CHECK(refusal(check, 816).empty());
  }
}

TEST_CASE("mapping check: a first rank that computes has started once it has had a processor for a while") {
  MappingCheck check(kLimit, kBefore);
  CHECK_FALSE(check.has_started(kBefore + 30, state('R', 10)));
  CHECK_FALSE(check.has_started(kBefore + 30, state('R', 100)));
  CHECK_FALSE(check.has_started(kBefore + 36, state('R', 110)));  // one more library
  CHECK_FALSE(check.has_started(kBefore + 36, state('R', 200)));
  CHECK(check.has_started(kBefore + 36, state('R', 210)));
}

TEST_CASE(
    "mapping check: one that has mapped nothing yet has not started, and refuses nobody; one that is gone is not "
    "waited for") {
  MappingCheck check(kLimit, kBefore);
  for (int i = 0; i < kLooks; ++i) CHECK_FALSE(check.has_started(kBefore, state('S', 0)));
  CHECK(refusal(check, 4000).empty());
  CHECK(check.has_started(kBefore, state(0, 0)));
}

}  // namespace mapping_check_test
