// ElfSymbols: the functions that a file of code names, for places of which there is no line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::internals {

/// Of a program or a library of this machine's kind; of any other file, or none, none.
class ElfSymbols {
 public:
  explicit ElfSymbols(const std::string& path);
  /// The function that holds this address of the file, as the file has it (mangled); "": it has no name.
  std::string function_at(std::uint64_t address) const;

 private:
  struct Function {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
  };
  std::vector<Function> functions_;  // by begin
};

}  // namespace coracle::internals
