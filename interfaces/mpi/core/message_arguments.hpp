// MessageArguments: a message as a function's arguments describe it; and what has become of one, as MPI says it.
#pragma once

#include <cstdint>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/status.hpp"
#include "runtime/core/error.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::mpi {

/// Checked.
struct MessageArguments {
  /// Throws MpiError for what is wrong in any of them.
  static MessageArguments of_send(const void* buffer, Count count, Datatype* datatype, int dest, int tag, Comm* comm) {
    Comm& in = checked(comm);
    check_tag(tag);
    if (dest == kProcNull) return {const_cast<void*>(buffer), count, datatype, dest, tag, comm};
    in.check_member(dest, "dest");
    return {const_cast<void*>(buffer), count, datatype, dest + in.first_peer(), tag, comm};
  }
  static MessageArguments of_receive(void* buffer, Count count, Datatype* datatype, int source, int tag, Comm* comm) {
    Comm& in = checked(comm);
    if (tag != kAnyTag) check_tag(tag);
    if (source == kProcNull || source == kAnySource) return {buffer, count, datatype, source, tag, comm};
    in.check_member(source, "source");
    return {buffer, count, datatype, source + in.first_peer(), tag, comm};
  }

  void* buffer;
  Count count;
  Datatype* datatype;
  int peer;  ///< Its place in the team. kProcNull: nothing is to be done.
  int tag;
  Comm* comm;

  /// As the program gives it.
  int rank() const noexcept { return peer < 0 ? peer : peer - comm->first_peer(); }
  internals::MessageSource source() const { return source_of(buffer, count, datatype); }
  internals::MessageTarget target() const { return target_of(buffer, count, datatype); }
  /// Of one that is sent, to a member: whether it has been, during the call; else nothing has happened.
  bool send_now() const {
    internals::Team& team = comm->team();
    const internals::Envelope envelope{team.core().identity(), team.index(), static_cast<std::uint64_t>(tag)};
    return internals::Messages::of(team.rank())
        .send_now(envelope, source(), team.member(static_cast<std::uint32_t>(peer)));
  }
  /// Of one that is sent, to a member.
  internals::Send send() const {
    return comm->team().send(source(), static_cast<std::uint32_t>(peer), static_cast<std::uint64_t>(tag));
  }
  /// Of one that is received, from a member or any.
  internals::Receive receive() const {
    internals::Team& team = comm->team();
    return internals::Messages::of(team.rank()).receive(team, target(), from(), wanted_tag());
  }
  /// Whether `receive`, which is receive()'s, has ended: only then it is no more to be begun.
  bool is_there(internals::Receive& receive) const {
    return internals::Messages::of(comm->team().rank()).may_be_ready() && receive.await_ready();
  }
  /// Of what goes on after the call, in which the program may free it; a predefined one stays.
  Ref<Datatype> datatype_in_use() const noexcept {
    return Ref<Datatype>(datatype == nullptr || datatype->is_predefined() ? nullptr : datatype);
  }
  std::uint32_t from() const noexcept {
    return peer == kAnySource ? internals::kAnySource : static_cast<std::uint32_t>(peer);
  }
  std::uint64_t wanted_tag() const noexcept {
    return tag == kAnyTag ? internals::kAnyTag : static_cast<std::uint64_t>(tag);
  }

 private:
  static void check_tag(int tag) {
    if (tag < 0) [[unlikely]]
      refuse_tag(tag);
  }
  [[noreturn]] static void refuse_tag(int tag);
};

/// What was received over `comm`, as MPI says it.
inline Status status_of(const internals::Received& received, const Comm& comm) noexcept {
  return {static_cast<int>(received.source) - comm.first_peer(), static_cast<int>(received.tag), 0, false,
          static_cast<Count>(received.bytes)};
}
/// Of a receive that has ended with `error`: whose message it was, if that was too long. Nothing of it has been stored.
Status status_of_failed(const internals::Error& error, const internals::Received& received, const Comm& comm) noexcept;
/// Of a receive from MPI_PROC_NULL.
inline Status null_status() noexcept {
  return {kProcNull, kAnyTag, 0, false, 0};
}

}  // namespace coracle::mpi
