// The cold half of CORACLE_ASSERT.
#include "runtime/core/assert.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace coracle::internals {
namespace {

std::atomic<int (*)() noexcept> rank_namer = nullptr;

}  // namespace

void name_rank_in_assertions(int (*rank_running_here)() noexcept) noexcept {
  rank_namer.store(rank_running_here);
}

void assertion_failed(const char* condition, const char* file, int line, std::string_view message) noexcept {
  char who[32] = "";
  const auto namer = rank_namer.load();
  if (const int rank = namer == nullptr ? -1 : namer(); rank >= 0) std::snprintf(who, sizeof who, "rank %d: ", rank);
  std::fprintf(stderr, "coracle: %sassertion failed: %s: %.*s (%s:%d)\n", who, condition,
               static_cast<int>(message.size()), message.data(), file, line);
  std::abort();
}

}  // namespace coracle::internals
