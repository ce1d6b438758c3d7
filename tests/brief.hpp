// Whether the tests are to be brief: before a commit, or where what they run on is slow. See ./check.
#pragma once

#include <cstdlib>
#include <cstring>

namespace coracle::internals::test {

/// CORACLE_TESTS=brief.
inline bool is_brief() noexcept {
  const char* tests = std::getenv("CORACLE_TESTS");
  return tests != nullptr && std::strcmp(tests, "brief") == 0;
}

}  // namespace coracle::internals::test
