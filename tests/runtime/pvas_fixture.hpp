// For the tests of the shared address space: the programs they start, and what is skipped where.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/pvas/address_space.hpp"
#include "tests/places.hpp"

/// Ends the test case, with the reason, where there can be no shared address space.
#define CORACLE_NEEDS_PVAS()                                \
  do {                                                      \
    const auto support = coracle::internals::pvas::probe(); \
    if (!support.available) {                               \
      MESSAGE("skipped: " << support.reason);               \
      return;                                               \
    }                                                       \
  } while (false)

namespace coracle::internals::test {

/// A program of tests/programs.
inline std::string helper(const std::string& name) {
  return in_build("tests/programs/" + name);
}

/// `arguments` with the program first.
inline SpawnOptions command(std::vector<std::string> arguments) {
  SpawnOptions options;
  options.program = arguments.front();
  options.arguments = std::move(arguments);
  options.environment = {"PATH=/usr/bin:/bin", "LANG=C"};
  return options;
}

/// An address as the helpers read it.
inline std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%llx", static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(address)));
  return text;
}

/// The message of the Error that `action` throws, or "" when it throws none.
template <typename Action>
std::string error_of(Action&& action) {
  try {
    action();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace coracle::internals::test
