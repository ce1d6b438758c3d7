// Standard files of ranks that are not those of their launcher: input and output of another machine, forwarded by the
// control stream; input from a terminal; and at the other end the launcher's own.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/launch/control_stream.hpp"
#include "runtime/launch/output_queue.hpp"

namespace coracle::internals {

/// What the ranks of a node write to standard output, sent to the head. It takes no more from them while much is
/// queued.
class OutputForwarder {
 public:
  /// `pipe`: the reading end.
  OutputForwarder(FileDescriptor pipe, ControlStream& head);

  /// Forwards whatever comes; has no end.
  Task<> serve(Io& io);
  /// Forwards what has come.
  void forward();

 private:
  FileDescriptor pipe_;
  ControlStream& head_;
};

/// What the head sends for the standard input of one of the node's ranks.
class InputForwarder {
 public:
  /// Bytes that the head may be ahead of what has been passed on.
  static constexpr std::size_t kWindowBytes = 64 << 10;

  /// `pipe`: the writing end.
  InputForwarder(FileDescriptor pipe, ControlStream& head);

  /// Empty: the end. Throws Error for more than the window allows.
  void push(const std::vector<std::byte>& bytes);
  /// Passes on what is pushed, until its end.
  Task<> serve(Io& io);

 private:
  void pass_on();

  FileDescriptor pipe_;
  ControlStream& head_;
  std::vector<std::byte> queue_;
  bool at_end_ = false;
  Condition pushed_;
};

/// What is to be written to the head's streams, from a node.
class HeadOutput final : public OutputSink {
 public:
  /// `head` must outlive it.
  explicit HeadOutput(ControlStream& head) noexcept : head_(head) {}
  void write(OutputStream stream, std::span<const std::byte> bytes) override;
  Task<> room() override;

 private:
  ControlStream& head_;
};

/// Whether processes that inherit this one's standard input can read it: ranks may not read from the terminal, since
/// their process groups are not the one in the foreground.
bool can_inherit_input() noexcept;

/// The standard files of a launcher whose ranks do not have them themselves.
class StandardFiles final : public OutputSink {
 public:
  /// Input goes to `reader` as far as that grants room for it, until its end.
  Task<> forward_input_to(ControlStream& reader, Io& io);
  void grant(std::size_t bytes) noexcept;
  /// Input goes to `pipe` until its end or that of the readers. It is waited for only here.
  static Task<> forward_input_to(FileDescriptor pipe, Io& io);

  void write(OutputStream stream, std::span<const std::byte> bytes) override;
  bool is_read(OutputStream stream) const noexcept override { return of(stream).is_read(); }
  /// Spawns what writes whenever it can.
  void serve(Scope& services, Io& io);
  /// So much waits that no more should be taken from the nodes.
  bool full() const noexcept { return output_.full() || errors_.full(); }
  Task<> room() override;
  /// Writes what waits, however long it takes.
  void finish();

 private:
  const OutputQueue& of(OutputStream stream) const noexcept {
    return stream == OutputStream::output ? output_ : errors_;
  }

  OutputQueue output_{STDOUT_FILENO};
  OutputQueue errors_{STDERR_FILENO};
  std::size_t credit_ = InputForwarder::kWindowBytes;
  Condition credited_;
};

}  // namespace coracle::internals
