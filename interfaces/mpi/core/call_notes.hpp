// The notes of MPI's functions: messages, collectives, requests.
#pragma once

#include <span>

#include "interfaces/mpi/core/call_note.hpp"
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/constants.hpp"

namespace coracle::mpi {

class Request;

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

}  // namespace coracle::mpi
