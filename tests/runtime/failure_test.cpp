// What nobody can catch any more is told, also when it is that there is no memory.
#include "runtime/core/error.hpp"

#include <doctest/doctest.h>

#include <exception>
#include <new>

#include "runtime/rank/rpc.hpp"
#include "tests/allocations.hpp"
#include "tests/sim/job.hpp"

namespace failure_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> tell_without_memory(Rank& self) {
  const auto error = std::make_exception_ptr(std::bad_alloc());
  const auto other = std::make_exception_ptr(3);
  const test::AllocationsFail fail(1);
  report_failure(self.id(), "a part of a test failed, as it should", error);
  detail::note_told(self, 7, error);
  detail::note_told(self, 7, other);
  co_return;
}

}  // namespace

// The text was made in memory that there was not, which ended the process.
TEST_CASE("failures: what fails for want of memory is told without any") {
  sim::SimJob job;
  job.size = 1;
  CHECK(sim::text_of(job.run(tell_without_memory)) == "");
}

}  // namespace failure_test
