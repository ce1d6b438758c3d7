// What programs call for each message, for entry points to have in themselves: two calls less, of which each would
// check, save and hand on all arguments once more.
#pragma once

#include "interfaces/mpi/core/message_requests.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

/// Of one that has not ended during the call.
void send_and_wait(const MessageArguments& arguments);

inline void send(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  World::get();
  const MessageArguments arguments = MessageArguments::of_send(buf, count, datatype, dest, tag, comm);
  if (dest != kProcNull && !arguments.send_now()) send_and_wait(arguments);
}

inline void isend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  World::get();
  const MessageArguments arguments = MessageArguments::of_send(buf, count, datatype, dest, tag, comm);
  if (dest == kProcNull || arguments.send_now())
    request = ended_send();
  else
    request = SendRequest::make(arguments, SendMode::standard, false);
}

inline void irecv(void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm, Request*& request) {
  World::get();
  request = ReceiveRequest::make(MessageArguments::of_receive(buf, count, datatype, source, tag, comm), false);
}

}  // namespace coracle::mpi
