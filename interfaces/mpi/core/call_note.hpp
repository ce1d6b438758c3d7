// What a call that waits can tell of itself, for hang reports. It is made only once a call really waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"
#include "runtime/core/signal_text.hpp"

namespace coracle::mpi {

class Request;

/// On the stack of the call. What it tells is told in a signal handler: no allocation.
class CallNote {
 public:
  CallNote(const CallNote&) = delete;
  CallNote& operator=(const CallNote&) = delete;
  /// Goes on with the line that names the function: " from rank 1, tag 7, on MPI_COMM_WORLD".
  virtual void add_brief(internals::SignalText& text) const noexcept = 0;
  /// Further lines, which begin with two blanks.
  virtual void add_lines(internals::SignalText& text) const noexcept { (void)text; }
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

/// " to rank 1, tag 7, on MPI_COMM_WORLD", or " from any rank, any tag, on ...". For signal handlers, too.
void add_message(internals::SignalText& text, bool is_receive, int peer, int tag, const Comm& comm) noexcept;

class SendNote final : public CallNote {
 public:
  SendNote(int dest, int tag, const Comm& comm) noexcept : dest_(dest), tag_(tag), comm_(comm) {}
  void add_brief(internals::SignalText& text) const noexcept override { add_message(text, false, dest_, tag_, comm_); }

 private:
  int dest_;
  int tag_;
  const Comm& comm_;
};

class ReceiveNote final : public CallNote {
 public:
  ReceiveNote(int source, int tag, const Comm& comm) noexcept : source_(source), tag_(tag), comm_(comm) {}
  void add_brief(internals::SignalText& text) const noexcept override { add_message(text, true, source_, tag_, comm_); }

 private:
  int source_;
  int tag_;
  const Comm& comm_;
};

/// A collective, or the making of a communicator.
class CollectiveNote final : public CallNote {
 public:
  explicit CollectiveNote(const Comm& comm) noexcept : comm_(comm) {}
  void add_brief(internals::SignalText& text) const noexcept override;
  bool is_told_by_waits() const noexcept override { return true; }

 private:
  const Comm& comm_;
};

/// Of MPI_Wait and its kin.
class RequestsNote final : public CallNote {
 public:
  explicit RequestsNote(std::span<Request* const> requests) noexcept : requests_(requests) {}
  void add_brief(internals::SignalText& text) const noexcept override;
  void add_lines(internals::SignalText& text) const noexcept override;

 private:
  std::span<Request* const> requests_;
};

/// Of what says itself what it awaits: a literal, such as " until the other ranks have come to it".
class PlainNote final : public CallNote {
 public:
  explicit PlainNote(const char* text) noexcept : text_(text) {}
  void add_brief(internals::SignalText& text) const noexcept override { text.add("{}", text_); }

 private:
  const char* text_;
};

}  // namespace coracle::mpi
