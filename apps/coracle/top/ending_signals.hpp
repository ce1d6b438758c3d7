// EndingSignals: signals as something to be read, for who has to tidy up before one ends him.
#pragma once

#include <signal.h>

#include <optional>

#include "runtime/core/file_descriptor.hpp"

namespace coracle::internals {

/// All that would end this process and can be caught; SIGTSTP and SIGCONT; SIGWINCH. For a process of one thread.
class EndingSignals {
 public:
  EndingSignals();
  ~EndingSignals();
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

  /// Can be read when there is one.
  int fd() const noexcept { return descriptor_.get(); }
  std::optional<int> next() noexcept;
  /// As if it had never been caught: ends this process, or stops it until it is to go on.
  static void yield_to(int signal) noexcept;

 private:
  FileDescriptor descriptor_;
  sigset_t before_{};
};

}  // namespace coracle::internals
