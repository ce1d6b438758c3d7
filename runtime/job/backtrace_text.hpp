// Backtraces as readers want them: of the lines that add_backtrace() has written (failure_record.hpp) the functions'
// names, and with debugging information the places in the source.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::internals {

struct CrashText {
  std::string headline;  ///< "SIGSEGV (address 0x0, not mapped)"
  std::string
      details;  ///< Further lines, indented; backtrace with names, and with source lines where addr2line finds them.
};

/// `programs`: the paths of the job's programs, for frames that name one as it was called. Runs addr2line if there is
/// one, for at most `patience`.
CrashText readable_crash(std::string_view raw, std::span<const std::string> programs,
                         std::chrono::milliseconds patience);
/// The same of many, in their order, with one run of addr2line for each module.
std::vector<CrashText> readable_crashes(std::span<const std::string_view> raws, std::span<const std::string> programs,
                                        std::chrono::milliseconds patience);

/// "solver.c:88" of an address in the file `module`, as addr2line wants it; "./solver+0x1234" where it is not known.
/// Takes at most about a second.
std::string place_in_source(const std::string& module, std::uint64_t address);

struct SourcePlace {
  std::string file;        ///< Of the source, with its folder; or "relax in solver", "solver+0x1234".
  std::uint32_t line = 0;  ///< 0: that of a source is not known.
};
/// Of many, in their order. Names of functions are looked for in the file itself. Takes at most `patience`, and reads
/// the file.
std::vector<SourcePlace> places_in_source(const std::string& module, std::span<const std::uint64_t> addresses,
                                          std::chrono::milliseconds patience);

}  // namespace coracle::internals
