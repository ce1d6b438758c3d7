// The launcher's view of a rank's crash: the text that crash_report.hpp wrote inside the dying rank, made readable.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace coracle::internals {

struct CrashText {
  std::string headline;  ///< "SIGSEGV (address 0x0, not mapped)"
  std::string
      details;  ///< Further lines, indented; backtrace with names, and with source lines where addr2line finds them.
};

/// `program`: the path of the program, for frames that name it as it was called. Runs addr2line if there is one, for at
/// most `patience`.
CrashText readable_crash(std::string_view raw, const std::string& program, std::chrono::milliseconds patience);

}  // namespace coracle::internals
