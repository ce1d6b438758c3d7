// Which of two failures is the likelier cause.
#include "runtime/launch/job_failure.hpp"

namespace coracle::internals {
namespace {

int weight(const JobFailure& failure) noexcept {
  if (failure.asked) return 3;
  if (failure.for_others) return 0;
  return failure.crashed ? 2 : 1;
}

}  // namespace

bool JobFailure::outweighs(const JobFailure& other) const noexcept {
  const bool one_clock = machine == other.machine;
  const bool timed =
      one_clock && when_ns != 0 && other.when_ns != 0 && !asked && !other.asked && for_others == other.for_others;
  if (timed) return when_ns < other.when_ns;
  return weight(*this) > weight(other);
}

}  // namespace coracle::internals
