// The process beside `coracle bench mapped` that reads its file by mmap when told to.
#pragma once

#include <span>

namespace coracle::internals::bench {

/// Word for a reader whose pages are dropped before each request.
inline constexpr const char* kCold = "--cold";

/// `words`: the file, and kCold or nothing. Answers on its standard input until that is closed; gives its exit status.
int read_by_mmap(std::span<const char* const> words);

}  // namespace coracle::internals::bench
