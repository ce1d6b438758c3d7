// Messages from one member to another, awaited where they are called or begun.
#include <optional>
#include <vector>

#include "interfaces/mpi/core/buffered_sends.hpp"
#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/quick_messages.hpp"

namespace coracle::mpi {
namespace {

using internals::Receive;
using internals::Send;

void send_all(const MessageArguments& arguments) {
  if (arguments.peer != kProcNull && !arguments.send_now()) send_and_wait(arguments);
}

void give_received(Status* status, const Status& value) noexcept {
  if (status == nullptr) return;
  const int error = status->error;
  *status = value;
  status->error = error;
}

/// Of one that has ended. Of one that failed because its message is too long, the status says whose that was.
void take_received(Receive& receive, const Comm& comm, Status* status) {
  try {
    give_received(status, status_of(receive.await_resume(), comm));
  } catch (const internals::Error& error) {
    give_received(status, status_of_failed(error, receive.received(), comm));
    throw;
  }
}

Request* begin_send(const void* buffer, Count count, Datatype* datatype, int dest, int tag, Comm* comm, SendMode mode,
                    bool persistent = false) {
  World::get();
  const MessageArguments arguments = MessageArguments::of_send(buffer, count, datatype, dest, tag, comm);
  const bool may_go = !persistent && (mode == SendMode::standard || mode == SendMode::ready);
  if (may_go && (dest == kProcNull || arguments.send_now())) return ended_send();
  return SendRequest::make(arguments, mode, persistent);
}

}  // namespace

void send_and_wait(const MessageArguments& arguments) {
  Send send = arguments.send();
  World::get().wait<SendNote>(send, arguments.rank(), arguments.tag, *arguments.comm);
}

void rsend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  send(buf, count, datatype, dest, tag, comm);
}

void ssend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  World& world = World::get();
  const MessageArguments arguments = MessageArguments::of_send(buf, count, datatype, dest, tag, comm);
  if (dest == kProcNull) return;
  internals::Task<> sent = comm->team().send_synchronously(
      arguments.source(), static_cast<std::uint32_t>(arguments.peer), static_cast<std::uint64_t>(tag));
  world.wait<SendNote>(sent, dest, tag, *comm);
}

void bsend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
  World& world = World::get();
  const MessageArguments arguments = MessageArguments::of_send(buf, count, datatype, dest, tag, comm);
  if (dest == kProcNull) return;
  world.buffered_sends().send(*comm, arguments.source(), static_cast<std::uint32_t>(arguments.peer),
                              static_cast<std::uint64_t>(tag));
}

void buffer_attach(void* buffer, Count size) {
  World::get().buffered_sends().attach(buffer, size);
}

void buffer_detach(void*& buffer_addr, Count& size) {
  World::get().buffered_sends().detach(buffer_addr, size);
}

void recv(void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm, Status* status) {
  World& world = World::get();
  const MessageArguments arguments = MessageArguments::of_receive(buf, count, datatype, source, tag, comm);
  if (source == kProcNull) return give_received(status, null_status());
  Receive receive = arguments.receive();
  if (!arguments.is_there(receive)) world.progress().begin(receive);
  world.progress().wait_for_begun<ReceiveNote>(receive, source, tag, *comm);
  take_received(receive, *comm, status);
}

void issend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::synchronous);
}

void irsend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::ready);
}

void ibsend(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::buffered);
}

void send_init(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::standard, true);
}

void ssend_init(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::synchronous, true);
}

void rsend_init(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::ready, true);
}

void bsend_init(const void* buf, Count count, Datatype* datatype, int dest, int tag, Comm* comm, Request*& request) {
  request = begin_send(buf, count, datatype, dest, tag, comm, SendMode::buffered, true);
}

void recv_init(void* buf, Count count, Datatype* datatype, int source, int tag, Comm* comm, Request*& request) {
  World::get();
  request = ReceiveRequest::make(MessageArguments::of_receive(buf, count, datatype, source, tag, comm), true);
}

void sendrecv(const void* sendbuf, Count sendcount, Datatype* sendtype, int dest, int sendtag, void* recvbuf,
              Count recvcount, Datatype* recvtype, int source, int recvtag, Comm* comm, Status* status) {
  World& world = World::get();
  const MessageArguments sent = MessageArguments::of_send(sendbuf, sendcount, sendtype, dest, sendtag, comm);
  const MessageArguments wanted = MessageArguments::of_receive(recvbuf, recvcount, recvtype, source, recvtag, comm);
  if (source == kProcNull) {
    send_all(sent);
    return give_received(status, null_status());
  }
  // Posted first, so that what comes meanwhile finds it.
  Receive receive = wanted.receive();
  if (!wanted.is_there(receive)) world.progress().begin(receive);
  std::optional<MpiError> failure;
  try {
    send_all(sent);
  } catch (...) {
    failure = current_error();
    receive.withdraw();
  }
  world.progress().wait_for_begun<ReceiveNote>(receive, source, recvtag, *comm);
  if (failure) throw MpiError(*failure);
  take_received(receive, *comm, status);
}

void sendrecv_replace(void* buf, Count count, Datatype* datatype, int dest, int sendtag, int source, int recvtag,
                      Comm* comm, Status* status) {
  const internals::MessageSource from = source_of(buf, count, datatype);
  std::vector<std::byte> sent(from.bytes());
  internals::read_part(from, 0, sent);
  sendrecv(sent.data(), static_cast<Count>(sent.size()), predefined_datatype("MPI_PACKED"), dest, sendtag, buf, count,
           datatype, source, recvtag, comm, status);
}

}  // namespace coracle::mpi
