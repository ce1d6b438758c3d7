// Who has started this process, as its environment tells.
#include "runtime/launch/rank_environment.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "runtime/core/error.hpp"

namespace coracle::internals::rank_environment_test {
namespace {

/// What check_is_started_alone() says with NAME=value; empty: nothing.
std::string complaint(const char* name, const char* value) {
  ::setenv(name, value, 1);
  std::string text;
  try {
    check_is_started_alone();
  } catch (const Error& error) {
    CHECK((error.code() == Errc::unsupported));
    text = error.what();
  }
  ::unsetenv(name);
  return text;
}

}  // namespace

TEST_CASE("a process that another launcher has started as one of several does not take itself for the whole job") {
  CHECK(complaint("PMI_SIZE", "4").find("PMI_SIZE=4 says that this process is one of 4") != std::string::npos);
  CHECK(complaint("SLURM_STEP_NUM_TASKS", "8").find("coracle run -n 8") != std::string::npos);
  CHECK(complaint("PMI_SIZE", "1").empty());
  CHECK(complaint("SLURM_STEP_NUM_TASKS", "").empty());
  CHECK_NOTHROW(check_is_started_alone());
}

}  // namespace coracle::internals::rank_environment_test
