// What the first rank of a job in one address space is taken to need, also where the machine is slow.
#include "runtime/launch/mapping_check.hpp"

#include <doctest/doctest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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
constexpr std::uint64_t kPassedMs = 5;

ProcessState state(char letter, std::uint64_t processor_ms) {
  ProcessState state;
  state.letter = letter;
  state.processor_ms = processor_ms;
  return state;
}

/// How many looks it takes; kLooks: it has not started then.
int looks_until_started(MappingCheck& check, std::size_t mappings, const ProcessState& first) {
  int looks = 0;
  while (looks < kLooks && !check.has_started(mappings, first, kPassedMs)) ++looks;
  return looks;
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
    CHECK(looks_until_started(check, kBefore + 2, state(waits, 10)) == kLooks);
    CHECK(looks_until_started(check, kBefore + 75, state('S', 20)) == 60);
    MappingCheck interrupted(kLimit, kBefore);
    for (int i = 0; i < 59; ++i) CHECK_FALSE(interrupted.has_started(kBefore + 75, state('S', 20), kPassedMs));
    CHECK(looks_until_started(interrupted, kBefore + 76, state('S', 20)) == 60);  // all of it once more
    CHECK(refusal(interrupted, 4000).find("room for 816 ranks") != std::string::npos);
    CHECK(refusal(interrupted, 816).empty());
    CHECK_FALSE(refusal(interrupted, 817).empty());
  }
}

TEST_CASE("mapping check: the number of ranks that there is room for is one that is not refused") {
  constexpr std::size_t kEach = 80;
  MappingCheck check(kBefore + 10 * kEach, kBefore);
  CHECK_FALSE(check.has_started(kBefore + kEach - 4, state('R', 0), kPassedMs));
  CHECK(refusal(check, 10).find("room for 9 ranks") != std::string::npos);
  CHECK(refusal(check, 9).empty());
}

TEST_CASE("mapping check: a first rank that computes has started once it has had a processor for a while") {
  MappingCheck check(kLimit, kBefore);
  CHECK_FALSE(check.has_started(kBefore + 30, state('R', 10), kPassedMs));
  CHECK_FALSE(check.has_started(kBefore + 30, state('R', 100), kPassedMs));
  CHECK_FALSE(check.has_started(kBefore + 36, state('R', 110), kPassedMs));  // one more library
  CHECK_FALSE(check.has_started(kBefore + 36, state('R', 200), kPassedMs));
  CHECK(check.has_started(kBefore + 36, state('R', 210), kPassedMs));
}

TEST_CASE("mapping check: one that has mapped nothing yet has not started, and refuses nobody; one that is gone has") {
  MappingCheck check(kLimit, kBefore);
  CHECK(looks_until_started(check, kBefore, state('S', 0)) == kLooks);
  CHECK(refusal(check, 4000).empty());
  CHECK(check.has_started(kBefore, state(0, 0), kPassedMs));
}

TEST_CASE("mapping check: only jobs that could hardly fill the address space go unmeasured") {
  const MappingCheck check(kLimit, kBefore);
  CHECK(check.surely_fits(65));
  CHECK_FALSE(check.surely_fits(66));
}

TEST_CASE("the state of a process is read from a line of the kernel's, whatever the program's name") {
  const auto line = [](const char* name) {
    return std::string("4711 (") + name + ") S 1 4711 4711 0 -1 4194304 100 0 0 0 " +
           "150 50 7 9 20 -5 3 0 12345 1000000 321 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";
  };
  const auto ticks_per_s = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const char* name : {"app", "a b", "a) R 1 2 3", "a\nb", ")", ""}) {
    CAPTURE(name);
    const ProcessState told = ProcessState::from(line(name));
    CHECK(told.letter == 'S');
    CHECK(told.flags == 4194304);
    CHECK(told.processor_ms == 200 * 1000 / ticks_per_s);
    CHECK(told.resident_bytes == 321 * page_bytes);
    CHECK_FALSE(told.is_ending());
  }
  for (const char* broken : {"", "4711", "4711 (app)", "4711 (app) "}) {
    CAPTURE(broken);
    CHECK(ProcessState::from(broken).letter == 0);
    CHECK(ProcessState::from(broken).is_ending());
  }
  CHECK(ProcessState::from("4711 (app) Z").letter == 'Z');
}

// Of another process than its own: the file of its own is an invention where an emulator runs the program.
TEST_CASE("the state of a process that has stopped is the kernel's") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, WUNTRACED);
  const ProcessState told = ProcessState::of(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(told.letter == 'T');
  CHECK(told.resident_bytes > static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace mapping_check_test
