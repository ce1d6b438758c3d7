// ProgramStack: the stack of the rank's thread, taken apart: the function of MPI that the program has called, and the
// program's own frames. It costs calls of MPI nothing: only reports and fatal errors look.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "runtime/core/signal_text.hpp"

namespace coracle::mpi {

class ProgramStack {
 public:
  /// Of the code that a signal has interrupted, in its handler.
  explicit ProgramStack(const void* interrupted) noexcept;
  /// Of the caller.
  ProgramStack() noexcept;

  /// Such as "MPI_Recv", or one of <coracle.h>; null where the thread is in none.
  const char* function() const noexcept { return function_; }
  /// Whether the library's own code has been interrupted, and not what it calls.
  bool is_inside_library() const noexcept { return inside_library_; }
  /// Appends the program's frames, the innermost first, as readable_crash() reads them.
  void add_frames(internals::SignalText& text) const noexcept;

 private:
  void take_apart() noexcept;
  void drop_start() noexcept;

  static constexpr std::size_t kFramesMax = 64;
  std::array<void*, kFramesMax> room_;
  std::span<void*> frames_;  // the program's, once the stack is taken apart
  bool is_exact_ = false;    // the first frame is an instruction, not what a call returns to
  bool inside_library_ = false;
  const char* function_ = nullptr;
};

/// The program's frames in the function of MPI that this thread is in, with names and source lines, a line each; empty
/// where there are none. Takes at most about a second.
std::string describe_callers();

}  // namespace coracle::mpi
