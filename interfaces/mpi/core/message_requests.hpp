// Requests of messages. They come by the hundred and go by the million: each class has a pool of freed memory, and few
// lines of a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "interfaces/mpi/core/message_arguments.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "runtime/core/completion.hpp"

namespace coracle::mpi {

/// Has what `make` returns made where it is to lie: what is awaited is large to move.
template <class Make>
struct MadeInPlace {
  Make make;
  operator std::invoke_result_t<Make>() const { return make(); }
};
template <class Make>
MadeInPlace(Make) -> MadeInPlace<Make>;

/// Memory of freed requests of one class, defined once: the ABI's library has its code in it, too. The handle in it
/// stays as it is, so that a stale one is told as such until the next request lies there. Never destroyed: destructors
/// of the program may still free requests.
class RequestPool {
 public:
  void* take(std::size_t bytes) {
    if (free_ == nullptr) [[unlikely]]
      return ::operator new(bytes);
    return std::exchange(free_, free_->next);
  }
  void give(void* place) noexcept { free_ = new (place) Free{free_}; }

 private:
  struct Free {
    Free* next;
  };
  Free* free_ = nullptr;
};

enum class SendMode : std::uint8_t { standard, ready, synchronous, buffered };

/// Of all sends that end during their call. A use of it for the caller.
Request* ended_send();

/// A message that is being sent.
class SendRequest final : public Request {
 public:
  /// Begins at once unless it is persistent. Owner: the caller, by the use it is born with.
  static Request* make(const MessageArguments& arguments, SendMode mode, bool persistent);

  bool is_done() const noexcept override { return completion_ == nullptr || completion_->done(); }
  Status look() noexcept override;
  void cancel() override;
  void add_to(internals::SignalText& text) const noexcept override;

  static void* operator new(std::size_t bytes) { return pool_.take(bytes); }
  static void operator delete(void* place) noexcept { pool_.give(place); }

 private:
  SendRequest(const MessageArguments& arguments, SendMode mode, bool persistent)
      : Request(arguments.comm, persistent),
        arguments_(arguments),
        datatype_(arguments.datatype_in_use()),
        mode_(mode) {}
  ~SendRequest() override = default;
  void begin() override;
  void settle() noexcept override;
  template <class Operation>
  void wait_for(Operation& operation);

  static RequestPool pool_;
  MessageArguments arguments_;
  Ref<Datatype> datatype_;  // of one that the program may free
  internals::Completion* completion_ = nullptr;
  // A task: of a synchronous send.
  std::variant<std::monostate, internals::Send, internals::Task<>> operation_;
  std::optional<Status> outcome_;
  SendMode mode_;
  bool cancelling_ = false;
};

/// A message that is being received. The message itself fills it: it borrows nothing while it waits.
class ReceiveRequest final : public Request {
 public:
  /// As SendRequest's. Inline, so that the arguments go straight to where they stay.
  static Request* make(const MessageArguments& arguments, bool persistent) {
    auto made = Ref<ReceiveRequest>::adopt(new ReceiveRequest(arguments, persistent));
    if (persistent)
      made->arguments_ = arguments;
    else
      made->receive(arguments);
    return made.give();
  }

  bool is_done() const noexcept override { return has_ended(); }
  bool is_awaited_at_end() const noexcept override { return false; }
  Status look() noexcept override;
  void cancel() override;
  void add_to(internals::SignalText& text) const noexcept override;

  // For those who take many at once, of one that is not persistent:
  bool has_ended() const noexcept { return !receive_ || !receive_->is_under_way(); }
  /// Of one that has ended. False also of one from MPI_PROC_NULL.
  bool has_ended_well() const noexcept { return receive_ && !receive_->has_failed(); }
  /// Of one that has_ended_well().
  Status status() const noexcept { return status_of(receive_->received(), *comm()); }
  /// As end() and release() together.
  void end_and_release() noexcept {
    if (uses() != 1) [[unlikely]] {
      end();
      return release();
    }
    leave_handle();
    this->~ReceiveRequest();
    pool_.give(this);
  }

  static void* operator new(std::size_t bytes) { return pool_.take(bytes); }
  static void operator delete(void* place) noexcept { pool_.give(place); }

 private:
  ReceiveRequest(const MessageArguments& arguments, bool persistent)
      : Request(arguments.comm, persistent, Kind::receive), datatype_(arguments.datatype_in_use()) {}
  ~ReceiveRequest() override = default;
  void begin() override { receive(*arguments_); }
  void receive(const MessageArguments& arguments) {
    if (arguments.peer == kProcNull) return;
    cancelling_ = false;
    internals::Team& team = comm()->team();
    internals::Messages& messages = internals::Messages::of(team.rank());
    receive_.emplace(MadeInPlace{
        [&] { return messages.receive(team, arguments.target(), arguments.from(), arguments.wanted_tag()); }});
    if (messages.may_be_ready() && receive_->await_ready()) return;
    World::get().progress().begin(*receive_);
  }
  Status look_at_failed(const internals::Receive& receive) noexcept;

  static RequestPool pool_;
  std::optional<MessageArguments> arguments_;  // of a persistent one
  Ref<Datatype> datatype_;                     // as above
  std::optional<internals::Receive> receive_;
  bool cancelling_ = false;
};

/// A message that a matched probe has taken, and that is being received.
class MatchedRequest final : public Request {
 public:
  MatchedRequest(internals::MatchedMessage& message, const MessageArguments& arguments);

  bool is_done() const noexcept override { return completion_ == nullptr || completion_->done(); }
  bool is_awaited_at_end() const noexcept override { return false; }
  Status look() noexcept override;
  void cancel() override {}  // its sender has been told: it comes
  void add_to(internals::SignalText& text) const noexcept override;

 private:
  ~MatchedRequest() override = default;
  void begin() override {}  // it is never persistent
  void settle() noexcept override;

  MessageArguments arguments_;
  Ref<Datatype> datatype_;  // as above
  const internals::Received of_;
  internals::Task<internals::Received> receiving_;
  internals::Completion* completion_ = nullptr;
  std::optional<Status> outcome_;
};

}  // namespace coracle::mpi
