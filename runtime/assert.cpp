// The cold half of CORACLE_ASSERT.
#include "runtime/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace coracle {

void assertion_failed(const char* condition, const char* file, int line, std::string_view message) noexcept {
  std::fprintf(stderr, "coracle: assertion failed: %s: %.*s (%s:%d)\n", condition, static_cast<int>(message.size()),
               message.data(), file, line);
  std::abort();
}

}  // namespace coracle
