// Standard input and output of ranks on another machine: forwarded by their launcher's control stream, and at its other
// end the head's own.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/launch/control_stream.hpp"

namespace coracle::internals {

/// What the ranks of a node write to standard output, sent to the head. It takes no more from them while much is
/// queued.
class OutputForwarder {
 public:
  /// Owns `fd`, the reading end of a pipe.
  OutputForwarder(int fd, ControlStream& head);
  ~OutputForwarder();
  OutputForwarder(const OutputForwarder&) = delete;
  OutputForwarder& operator=(const OutputForwarder&) = delete;

  /// Forwards whatever comes; has no end.
  Task<> serve(Io& io);
  /// Forwards what has come.
  void forward();

 private:
  static constexpr std::size_t kBacklogMax = 256 << 10;
  int fd_;
  ControlStream& head_;
};

/// What the head sends for rank 0's standard input.
class InputForwarder {
 public:
  /// Bytes that the head may be ahead of what has been passed on.
  static constexpr std::size_t kWindowBytes = 64 << 10;

  /// Owns `fd`, the writing end of a pipe.
  InputForwarder(int fd, ControlStream& head);
  ~InputForwarder();
  InputForwarder(const InputForwarder&) = delete;
  InputForwarder& operator=(const InputForwarder&) = delete;

  /// Empty: the end. Throws Error for more than the window allows.
  void push(const std::vector<std::byte>& bytes);
  /// Passes on what is pushed, until its end.
  Task<> serve(Io& io);

 private:
  void pass_on();
  void close_pipe() noexcept;

  int fd_;
  ControlStream& head_;
  std::vector<std::byte> queue_;
  bool at_end_ = false;
  Condition pushed_;
};

/// The head's own standard input and output, for ranks of other machines.
class StandardFiles {
 public:
  /// Input goes to `reader` as far as that grants room for it, until its end.
  Task<> forward_input_to(ControlStream& reader, Io& io);
  void grant(std::size_t bytes) noexcept;

  void write(const std::vector<std::byte>& bytes);
  /// Writes what waits whenever it can be; has no end.
  Task<> write_output(Io& io);
  /// So much waits that no more should be taken from the nodes.
  bool full() const noexcept { return output_.size() >= kBacklogMax; }
  /// Until it is not.
  Task<> room();
  /// Writes what waits, however long it takes.
  void finish();

 private:
  static constexpr std::size_t kBacklogMax = 1 << 20;

  void write_some();

  std::vector<std::byte> output_;
  std::size_t credit_ = InputForwarder::kWindowBytes;
  Condition changed_;  // output_ or credit_
};

}  // namespace coracle::internals
