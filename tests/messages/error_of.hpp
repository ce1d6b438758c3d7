// What an operation fails with, as a text to compare.
#pragma once

#include <coracle/coracle.hpp>

#include <string>

namespace coracle::internals::test {

/// The text of what the task throws, or "".
template <class Awaitable>
Task<std::string> error_of(Awaitable task) {
  std::string text;
  try {
    co_await task;
  } catch (const Error& error) {
    text = error.what();
  }
  co_return text;
}

}  // namespace coracle::internals::test
