// What is wrong with a message's arguments, or with its end.
#include "interfaces/mpi/core/message_arguments.hpp"

namespace coracle::mpi {

void MessageArguments::refuse_tag(int tag) {
  raise(ErrorClass::tag, "tag is {}: a tag is from 0 to {}", tag, kTagMax);
}

Status status_of_failed(const internals::Error& error, const internals::Received& received, const Comm& comm) noexcept {
  if (error.code() != internals::Errc::truncated) return {};
  return status_of({received.source, received.tag, 0}, comm);
}

}  // namespace coracle::mpi
