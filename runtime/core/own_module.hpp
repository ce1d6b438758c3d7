// Module: a file of code in this process: the one that holds the library (the main program, or a shared library that it
// is linked into), and the main program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::internals {

/// Where it lies in this rank; distances from its start are the same in every rank, wherever it was loaded.
struct Module {
  const char* start;
  const char* code_end;
  const char* data_end;  ///< Of what is initialised, constants too.

  bool holds_code(std::ptrdiff_t offset) const noexcept { return offset > 0 && offset < code_end - start; }
  bool holds_data(std::ptrdiff_t offset) const noexcept { return offset > 0 && offset < data_end - start; }
};

/// The one that holds the library.
extern const Module kOwnModule;

/// The main program, where the library is a shared one; otherwise an empty module, which holds nothing.
struct ProgramModule : Module {
  std::uintptr_t base;   ///< What is added to the addresses in its file.
  std::uint16_t digest;  ///< Tells programs apart: of the sizes and places of their parts.
};
const ProgramModule& program_module() noexcept;

/// The file of the main program, where the system tells; else the name by which it was called.
std::string program_path();

}  // namespace coracle::internals
