// What a call that waits can tell of itself, for hang reports. It is made only once a call really waits.
#pragma once

#include <cstdint>

#include "runtime/core/signal_text.hpp"

namespace coracle::mpi {

/// On the stack of the call. What it tells is told in a signal handler: no allocation.
class CallNote {
 public:
  CallNote(const CallNote&) = delete;
  CallNote& operator=(const CallNote&) = delete;
  /// Goes on with the line that names the function: " from rank 1, tag 7, on MPI_COMM_WORLD".
  virtual void add_brief(internals::SignalText& text) const noexcept = 0;
  /// Further lines, which begin with two blanks.
  virtual void add_lines(internals::SignalText& text) const noexcept { (void)text; }
  /// The function, where it is none of MPI's, which the stack tells.
  virtual const char* function() const noexcept { return "a function of MPI"; }
  /// Whether the waits of the rank's coroutines say whom the call awaits.
  virtual bool is_told_by_waits() const noexcept { return false; }

 protected:
  CallNote() = default;
  ~CallNote() = default;

 private:
  friend class Progress;
  friend class CallReporter;
  std::uint64_t since_ns_ = 0;
};

/// Of what says itself what it awaits: a literal, such as " until the other ranks have come to it".
class PlainNote final : public CallNote {
 public:
  explicit PlainNote(const char* text) noexcept : text_(text) {}
  void add_brief(internals::SignalText& text) const noexcept override { text.add("{}", text_); }

 private:
  const char* text_;
};

/// Of functions in which a program of MPI awaits what is not MPI's.
class AwaitNote final : public CallNote {
 public:
  const char* function() const noexcept override { return "coracle::await"; }
  void add_brief(internals::SignalText&) const noexcept override {}
  bool is_told_by_waits() const noexcept override { return true; }
};

}  // namespace coracle::mpi
