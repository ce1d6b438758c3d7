// The cold half of CORACLE_ASSERT.
#include "runtime/assert.hpp"

#include <cstdio>
#include <cstdlib>

#include "runtime/diagnostics.hpp"

namespace coracle::internals {

void assertion_failed(const char* condition, const char* file, int line, std::string_view message) noexcept {
  char who[32] = "";
  if (const int rank = Diagnostics::rank_running_here(); rank >= 0) std::snprintf(who, sizeof who, "rank %d: ", rank);
  std::fprintf(stderr, "coracle: %sassertion failed: %s: %.*s (%s:%d)\n", who, condition,
               static_cast<int>(message.size()), message.data(), file, line);
  std::abort();
}

}  // namespace coracle::internals
