// Processes that read a file through their memory, each in a memory group of its own, when told to: by mmap, or as the
// program does that is beside `coracle bench mapped`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/bench/pages/reader_protocol.hpp"

namespace coracle::internals::bench {

class ReaderProcess {
 public:
  /// Starts program `words[0]` with these words; its standard input is a socket for ReaderRequest. `group`: folder of
  /// the memory group that it is put into; empty: none. Throws Error.
  ReaderProcess(std::vector<std::string> words, const std::string& group);
  ~ReaderProcess();
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  /// Returns when it has done it. Throws Error, also when a page was wrong.
  void run(const ReaderRequest& request);

 private:
  void end() const;

  std::string name_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

/// Word for a reader whose pages are dropped before each request.
inline constexpr const char* kCold = "--cold";

/// `words`: the file, and kCold or nothing. Answers on its standard input until that is closed; gives its exit status.
int read_by_mmap(std::span<const char* const> words);

}  // namespace coracle::internals::bench
