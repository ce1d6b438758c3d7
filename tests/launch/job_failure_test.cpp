// Which of two failures a launcher names, and what ranks leave behind for it to know.
#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "runtime/core/error.hpp"
#include "runtime/job/failure_record.hpp"
#include "runtime/launch/job_failure.hpp"

namespace coracle::internals::job_failure_test {
namespace {

JobFailure failure(bool crashed, bool for_others, std::uint64_t when_ns) {
  JobFailure result;
  result.crashed = crashed;
  result.for_others = for_others;
  result.when_ns = when_ns;
  return result;
}

/// `buffer` holds what they refer to.
FailureRecord words_of(int signal, bool for_others, std::array<char, 100>& buffer) {
  SignalText text(buffer.data(), buffer.size());
  FailureRecord::add(text, signal, for_others);
  text.add("SIGSEGV (address 0x0)\n");
  return FailureRecord::parse(text.view());
}

}  // namespace

TEST_CASE("job failures: what others have caused is outweighed by all else, a crash by an earlier error") {
  const JobFailure crash = failure(true, false, 0);
  const JobFailure exit = failure(false, false, 0);
  const JobFailure consequence = failure(false, true, 5);
  CHECK(crash.outweighs(exit));
  CHECK_FALSE(exit.outweighs(crash));
  CHECK(exit.outweighs(consequence));
  CHECK_FALSE(consequence.outweighs(exit));
  CHECK(exit.outweighs(failure(true, true, 5)));  // an uncaught exception that tells of a lost peer
  CHECK_FALSE(crash.outweighs(crash));            // the first to be known stays
  CHECK(failure(false, false, 1).outweighs(failure(true, false, 2)));
  CHECK_FALSE(failure(true, false, 2).outweighs(failure(false, false, 1)));
  CHECK(failure(false, true, 1).outweighs(failure(false, true, 2)));
}

TEST_CASE("job failures: what was asked for is final") {
  JobFailure asked;
  asked.asked = true;
  for (const bool crashed : {false, true}) {
    CHECK(asked.outweighs(failure(crashed, false, 1)));
    CHECK_FALSE(failure(crashed, false, 1).outweighs(asked));
  }
}

TEST_CASE("last words: come back as they were left, and other text is none") {
  std::array<char, 100> buffer{};
  std::array<char, 100> other{};
  const FailureRecord crash = words_of(11, false, buffer);
  CHECK(crash.when_ns > 0);
  CHECK(crash.signal == 11);
  CHECK_FALSE(crash.for_others);
  CHECK(crash.crash == "SIGSEGV (address 0x0)\n");
  CHECK(words_of(6, true, other).for_others);
  CHECK(words_of(6, true, other).when_ns >= crash.when_ns);
  for (const char* text :
       {"", "when", "when ", "when 1", "when 1 2", "when 1 2 3", "when x 2 3\n", "rank 0 is running"}) {
    CAPTURE(text);
    CHECK(FailureRecord::parse(text).when_ns == 0);
  }
}

TEST_CASE("last words: of an error they say whether another rank is to blame; the first stay") {
  for (const Errc code : {Errc::peer_lost, Errc::given_up, Errc::page_lost, Errc::bad_input}) {
    const auto block = std::make_unique<RankBlock>();
    leave_failure_record(*block, std::make_exception_ptr(Error(code, "an error")));
    leave_failure_record(*block, std::make_exception_ptr(std::runtime_error("another")));
    const FailureRecord words = FailureRecord::parse({block->crash_text.data(), block->crash_bytes.load()});
    CHECK(words.when_ns > 0);
    CHECK(words.signal == 0);
    CHECK(words.for_others == (code != Errc::bad_input));
  }
}

}  // namespace coracle::internals::job_failure_test
