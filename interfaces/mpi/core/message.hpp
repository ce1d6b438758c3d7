// Message: one that a matched probe has taken out, so that only its own receive gets it.
#pragma once

#include <optional>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/object.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::mpi {

class Message final : public Object {
 public:
  Message(Comm& comm, internals::MatchedMessage matched);
  /// MPI_MESSAGE_NO_PROC: of MPI_PROC_NULL.
  static Message& no_process();
  bool is_no_process() const noexcept { return !matched_; }
  internals::MatchedMessage& matched() noexcept { return *matched_; }
  Comm& comm() const noexcept { return *comm_; }

 private:
  Message() = default;
  ~Message() override = default;
  Ref<Comm> comm_;
  std::optional<internals::MatchedMessage> matched_;
};

}  // namespace coracle::mpi
