// OwnModule: the file that holds the library's code: the main program, or a shared library that it is linked into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::internals {

/// Where it lies in this rank; distances from its start are the same in every rank, wherever it was loaded.
struct OwnModule {
  const char* start;
  const char* code_end;
  const char* data_end;  ///< Of what is initialised, constants too.

  bool holds_code(std::ptrdiff_t offset) const noexcept { return offset > 0 && offset < code_end - start; }
  bool holds_data(std::ptrdiff_t offset) const noexcept { return offset > 0 && offset < data_end - start; }
};

extern const OwnModule kOwnModule;

/// The program of this rank, whether it holds the library or not.
struct MainProgram {
  std::uintptr_t base;   ///< What is added to the addresses in its file.
  std::uintptr_t bytes;  ///< From there to the end of its last segment.

  static MainProgram find() noexcept;
  /// Of its file, where the system tells; else the name by which it was called.
  static std::string path();
};

}  // namespace coracle::internals
