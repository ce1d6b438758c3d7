// Probes, and receives of messages that a probe has taken.
#include <optional>
#include <utility>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/message.hpp"
#include "interfaces/mpi/core/message_requests.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace {

using internals::MatchedMessage;
using internals::Received;

void give_found(Status* status, const Status& value) noexcept {
  if (status == nullptr) return;
  const int error = status->error;
  *status = value;
  status->error = error;
}

/// Where and what to look for.
struct Wanted {
  Wanted(int source, int tag, Comm* of)
      : arguments(MessageArguments::of_receive(nullptr, 0, nullptr, source, tag, of)) {}
  internals::Team& team() const { return arguments.comm->team(); }
  std::optional<Received> look() const { return team().probe(arguments.from(), arguments.wanted_tag()); }
  std::optional<MatchedMessage> take() const { return team().matched_probe(arguments.from(), arguments.wanted_tag()); }
  bool is_null() const noexcept { return arguments.peer == kProcNull; }
  MessageArguments arguments;
};

void take_out(MatchedMessage matched, Comm& comm, Message*& message, Status* status) {
  give_found(status, status_of(matched.info(), comm));
  message = new Message(comm, std::move(matched));
}

void receive_taken(World& world, const Comm& comm, const internals::MessageTarget& target, Message*& message,
                   Status* status) {
  const Received there = message->matched().info();
  internals::Task<Received> receiving = message->matched().recv(target);
  const Ref<Message> owner = Ref<Message>::adopt(std::exchange(message, nullptr));
  try {
    give_found(status, status_of(world.wait<PlainNote>(receiving, " until its sender has given the message"), comm));
  } catch (const internals::Error& error) {
    give_found(status, status_of_failed(error, there, comm));
    throw;
  }
}

}  // namespace

Message::Message(Comm& comm, MatchedMessage matched) : comm_(&comm), matched_(std::move(matched)) {}

Message& Message::no_process() {
  static auto* message = [] {
    auto* made = new Message;
    made->set_predefined();
    return made;
  }();
  return *message;
}

void iprobe(int source, int tag, Comm* comm, bool& flag, Status* status) {
  World& world = World::get();
  const Wanted wanted(source, tag, comm);
  flag = true;
  if (wanted.is_null()) return give_found(status, null_status());
  std::optional<Received> there = wanted.look();
  if (!there) {
    world.poll();
    there = wanted.look();
  }
  flag = there.has_value();
  if (there) give_found(status, status_of(*there, *comm));
}

void probe(int source, int tag, Comm* comm, Status* status) {
  World& world = World::get();
  const Wanted wanted(source, tag, comm);
  if (wanted.is_null()) return give_found(status, null_status());
  std::optional<Received> there = wanted.look();
  if (!there) {
    internals::Task<Received> waiting =
        wanted.team().wait_probe(wanted.arguments.from(), wanted.arguments.wanted_tag());
    there = world.wait<ReceiveNote>(waiting, source, tag, *comm);
  }
  give_found(status, status_of(*there, *comm));
}

void improbe(int source, int tag, Comm* comm, bool& flag, Message*& message, Status* status) {
  World& world = World::get();
  const Wanted wanted(source, tag, comm);
  flag = true;
  if (wanted.is_null()) {
    message = &Message::no_process();
    return give_found(status, null_status());
  }
  if (!wanted.look()) world.poll();
  std::optional<MatchedMessage> there = wanted.take();
  flag = there.has_value();
  if (there) take_out(std::move(*there), *comm, message, status);
}

void mprobe(int source, int tag, Comm* comm, Message*& message, Status* status) {
  for (bool flag = false; !flag;) {
    improbe(source, tag, comm, flag, message, status);
    if (!flag) probe(source, tag, comm, nullptr);
  }
}

void mrecv(void* buf, Count count, Datatype* datatype, Message*& message, Status* status) {
  World& world = World::get();
  if (message == nullptr) raise(ErrorClass::request, "message is MPI_MESSAGE_NULL: it has been received already");
  if (message->is_no_process()) {
    message = nullptr;
    return give_found(status, null_status());
  }
  const Ref<Comm> comm(&message->comm());
  call_for(comm.get(), [&] { receive_taken(world, *comm, target_of(buf, count, datatype), message, status); });
}

void imrecv(void* buf, Count count, Datatype* datatype, Message*& message, Request*& request) {
  World::get();
  if (message == nullptr) raise(ErrorClass::request, "message is MPI_MESSAGE_NULL: it has been received already");
  if (message->is_no_process()) {
    message = nullptr;
    request = ReceiveRequest::make(
        MessageArguments::of_receive(buf, count, datatype, kProcNull, kAnyTag, &World::get().comm_self()), false);
    return;
  }
  Comm& comm = message->comm();
  call_for(&comm, [&] {
    const internals::Received of = message->matched().info();
    request = new MatchedRequest(message->matched(),
                                 {buf, count, datatype, static_cast<int>(of.source), static_cast<int>(of.tag), &comm});
    free_handle(message);
  });
}

}  // namespace coracle::mpi
