// CORACLE_ASSERT: always-on check for a programmer's mistake. Says the condition, the values and the place, then
// aborts, so that the launcher can report rank, signal and backtrace.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace coracle::internals {

/// Prints the failed condition and aborts; never returns. Any thread.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   std::string_view message) noexcept;

/// Who can tell which rank the calling thread is (-1: none), for assertions to say so. Null: nobody.
void name_rank_in_assertions(int (*rank_running_here)() noexcept) noexcept;

}  // namespace coracle::internals

/// CORACLE_ASSERT(condition, "format", values...): the format and its values are evaluated only when the condition is
/// false.
#define CORACLE_ASSERT(condition, ...)                                                                    \
  do {                                                                                                    \
    if (!(condition)) [[unlikely]]                                                                        \
      ::coracle::internals::assertion_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
