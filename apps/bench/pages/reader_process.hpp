// ReaderProcess: a process of its own that reads a file through its memory, in a memory group of its own, and does it
// when told to.
#pragma once

#include <sys/types.h>

#include <cstdint>
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

}  // namespace coracle::internals::bench
