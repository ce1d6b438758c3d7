// What the launcher says: whole lines on standard error, each in one write so that they don't mix with those of ranks.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "runtime/core/signal_text.hpp"

namespace coracle::internals {

/// Writes `text` as it is.
inline void write_to_user(const std::string& text) {
  write_all(STDERR_FILENO, text);
}

/// "coracle: " before it and a newline after it.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  write_to_user("coracle: " + fmt::format(format, std::forward<Values>(values)...) + "\n");
}

}  // namespace coracle::internals
