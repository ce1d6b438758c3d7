// MessageRequest: a message that is being sent or received.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "runtime/core/error.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::mpi {

enum class SendMode : std::uint8_t { standard, ready, synchronous, buffered };

/// A message as a function's arguments describe it, checked.
struct MessageArguments {
  /// Throws MpiError for what is wrong in any of them.
  static MessageArguments of_send(const void* buffer, Count count, Datatype* datatype, int dest, int tag, Comm* comm);
  static MessageArguments of_receive(void* buffer, Count count, Datatype* datatype, int source, int tag, Comm* comm);

  void* buffer;
  Count count;
  Datatype* datatype;
  int peer;  ///< kProcNull: nothing is to be done.
  int tag;
  Comm* comm;

  internals::MessageSource source() const { return source_of(buffer, count, datatype); }
  internals::MessageTarget target() const { return target_of(buffer, count, datatype); }
  /// Of one that is sent, to a member: whether it has been, during the call; else nothing has happened.
  bool send_now() const {
    return internals::send_now(comm->team(), source(), static_cast<std::uint32_t>(peer),
                               static_cast<std::uint64_t>(tag));
  }
  std::uint32_t from() const noexcept {
    return peer == kAnySource ? internals::kAnySource : static_cast<std::uint32_t>(peer);
  }
  std::uint64_t wanted_tag() const noexcept {
    return tag == kAnyTag ? internals::kAnyTag : static_cast<std::uint64_t>(tag);
  }
};

/// What was received, as MPI says it.
Status status_of(const internals::Received& received) noexcept;
/// Of a receive that has ended with `error`: whose message it was, if that was too long. Nothing of it has been stored.
Status status_of_failed(const internals::Error& error, const internals::Received& received) noexcept;
/// Of a receive from MPI_PROC_NULL.
inline Status null_status() noexcept {
  return {kProcNull, kAnyTag, 0, false, 0};
}

/// Of all sends that end during their call. A use of it for the caller.
Request* ended_send();

/// Comes from a pool and goes back there: what it needs while it waits is made once.
class MessageRequest final : public Request {
 public:
  /// Begins at once unless it is persistent. Owner: the caller, by the use it is born with.
  static MessageRequest* send(const MessageArguments& arguments, SendMode mode, bool persistent);
  static MessageRequest* receive(const MessageArguments& arguments, bool persistent);
  /// Of a matched message.
  static MessageRequest* receive_matched(internals::MatchedMessage& message, void* buffer, Count count,
                                         Datatype* datatype, Comm& comm);

  bool is_done() const noexcept override { return completion_ == nullptr || completion_->done(); }
  bool is_awaited_at_end() const noexcept override { return !receives_; }
  Status look() noexcept override;
  void cancel() override;
  void add_to(internals::SignalText& text) const noexcept override;

 private:
  MessageRequest(const MessageArguments& arguments, SendMode mode, bool receives, bool persistent);
  ~MessageRequest() override;
  void begin() override;
  void begin_send();
  void settle() noexcept override;
  static void* operator new(std::size_t bytes);
  static void operator delete(void* place) noexcept;
  template <class Operation>
  void wait_for(Operation& operation) {
    if (operation.await_ready()) return;
    completion_ = &World::get().progress().begin(operation, receives_ ? AtFinalize::withdrawn : AtFinalize::refused);
  }
  void take_outcome(Status& status);
  internals::Received received() const noexcept;

  MessageArguments arguments_;
  Ref<Datatype> datatype_;  // of one that the program may free
  internals::Completion* completion_ = nullptr;
  // A task: a synchronous send, or a receive of a matched message. In one place: requests come by the hundred, and each
  // has few lines of a cache so.
  std::variant<std::monostate, internals::Send, internals::Receive, internals::Task<>,
               internals::Task<internals::Received>>
      operation_;
  std::optional<Status> outcome_;
  SendMode mode_;
  bool receives_;
  bool cancelling_ = false;
};

}  // namespace coracle::mpi
