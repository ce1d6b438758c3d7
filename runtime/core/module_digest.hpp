// A number for the code of the module that holds the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "runtime/core/own_module.hpp"

namespace coracle::internals {

/// A peer with another one would take our function addresses for others. Reads all of the code.
inline std::uint64_t own_module_digest() noexcept {
  const auto bytes = static_cast<std::size_t>(kOwnModule.code_end - kOwnModule.start);
  return std::hash<std::string_view>()(std::string_view(kOwnModule.start, bytes));
}

}  // namespace coracle::internals
