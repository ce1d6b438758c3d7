// How messages are begun and ended by requests.
#include "interfaces/mpi/core/message_request.hpp"

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "interfaces/mpi/core/buffered_sends.hpp"
#include "interfaces/mpi/core/call_notes.hpp"

namespace coracle::mpi {
namespace {

void check_tag(int tag) {
  if (tag < 0) [[unlikely]]
    raise(ErrorClass::tag, "tag is {}: a tag is from 0 to {}", tag, kTagMax);
}

/// Has what `make` returns made where it is to lie: what is awaited is large to move.
template <class Make>
struct MadeInPlace {
  Make make;
  operator std::invoke_result_t<Make>() const { return make(); }
};
template <class Make>
MadeInPlace(Make) -> MadeInPlace<Make>;

/// Freed requests' memory: they come and go by the million.
struct Pool {
  std::vector<void*> places;
};

Pool& pool() {
  static auto* const made = new Pool;  // never destroyed: destructors of the program may still free requests
  return *made;
}

}  // namespace

MessageArguments MessageArguments::of_send(const void* buffer, Count count, Datatype* datatype, int dest, int tag,
                                           Comm* comm) {
  Comm& in = checked(comm);
  check_tag(tag);
  if (dest != kProcNull) in.check_member(dest, "dest");
  return {const_cast<void*>(buffer), count, datatype, dest, tag, comm};
}

MessageArguments MessageArguments::of_receive(void* buffer, Count count, Datatype* datatype, int source, int tag,
                                              Comm* comm) {
  Comm& in = checked(comm);
  if (tag != kAnyTag) check_tag(tag);
  if (source != kProcNull && source != kAnySource) in.check_member(source, "source");
  return {buffer, count, datatype, source, tag, comm};
}

Status status_of(const internals::Received& received) noexcept {
  return {static_cast<int>(received.source), static_cast<int>(received.tag), 0, false,
          static_cast<Count>(received.bytes)};
}

Status status_of_failed(const internals::Error& error, const internals::Received& received) noexcept {
  if (error.code() != internals::Errc::truncated) return {};
  return status_of({received.source, received.tag, 0});
}

void* MessageRequest::operator new(std::size_t bytes) {
  if (pool().places.empty()) return ::operator new(bytes);
  void* place = pool().places.back();
  pool().places.pop_back();
  return place;
}

void MessageRequest::operator delete(void* place) noexcept {
  try {
    pool().places.push_back(place);
  } catch (...) {
    ::operator delete(place);
  }
}

Request* ended_send() {
  class EndedSend final : public Request {
   public:
    EndedSend() { set_predefined(); }
    bool is_done() const noexcept override { return true; }
    Status look() noexcept override { return {}; }
    void cancel() override {}  // too late
    void add_to(internals::SignalText& text) const noexcept override { text.add("a send that has ended"); }

   private:
    void begin() override {}
  };
  static auto* const made = new EndedSend;  // never destroyed: as the pool
  made->take();
  return made;
}

MessageRequest::MessageRequest(const MessageArguments& arguments, SendMode mode, bool receives, bool persistent)
    : Request(arguments.comm, persistent),
      arguments_(arguments),
      datatype_(arguments.datatype != nullptr && !arguments.datatype->is_predefined() ? arguments.datatype : nullptr),
      mode_(mode),
      receives_(receives) {}

MessageRequest::~MessageRequest() = default;

MessageRequest* MessageRequest::send(const MessageArguments& arguments, SendMode mode, bool persistent) {
  auto made = Ref<MessageRequest>::adopt(new MessageRequest(arguments, mode, false, persistent));
  if (!persistent) made->begin();
  return made.give();
}

MessageRequest* MessageRequest::receive(const MessageArguments& arguments, bool persistent) {
  auto made = Ref<MessageRequest>::adopt(new MessageRequest(arguments, SendMode::standard, true, persistent));
  if (!persistent) made->begin();
  return made.give();
}

MessageRequest* MessageRequest::receive_matched(internals::MatchedMessage& message, void* buffer, Count count,
                                                Datatype* datatype, Comm& comm) {
  const internals::Received of = message.info();
  const MessageArguments arguments{buffer, count, datatype, static_cast<int>(of.source), static_cast<int>(of.tag),
                                   &comm};
  auto made = Ref<MessageRequest>::adopt(new MessageRequest(arguments, SendMode::standard, true, false));
  made->wait_for(made->operation_.emplace<internals::Task<internals::Received>>(message.recv(arguments.target())));
  return made.give();
}

void MessageRequest::begin() {
  outcome_.reset();
  if (arguments_.peer == kProcNull) {
    outcome_ = receives_ ? null_status() : Status{};
  } else if (receives_) {
    wait_for(operation_.emplace<internals::Receive>(MadeInPlace{
        [this] { return comm()->team().recv(arguments_.target(), arguments_.from(), arguments_.wanted_tag()); }}));
  } else {
    begin_send();
  }
}

void MessageRequest::begin_send() {
  const auto to = static_cast<std::uint32_t>(arguments_.peer);
  const auto tag = static_cast<std::uint64_t>(arguments_.tag);
  switch (mode_) {
    case SendMode::standard:
    case SendMode::ready:
      return wait_for(operation_.emplace<internals::Send>(
          MadeInPlace{[&] { return comm()->team().send(arguments_.source(), to, tag); }}));
    case SendMode::synchronous:
      return wait_for(
          operation_.emplace<internals::Task<>>(comm()->team().send_synchronously(arguments_.source(), to, tag)));
    case SendMode::buffered:
      World::get().buffered_sends().send(*comm(), arguments_.source(), to, tag);
      outcome_ = Status{};
  }
}

/// The message that it got, of one that receives.
internals::Received MessageRequest::received() const noexcept {
  if (const auto* receive = std::get_if<internals::Receive>(&operation_)) return receive->received();
  return {arguments_.from(), arguments_.wanted_tag(), 0};
}

/// Once: operations give their value or error once.
void MessageRequest::take_outcome(Status& status) {
  std::visit(
      [&status]<class Operation>(Operation& operation) {
        if constexpr (std::is_same_v<Operation, std::monostate>)
          return;
        else if constexpr (std::is_void_v<decltype(operation.await_resume())>)
          operation.await_resume();
        else
          status = status_of(operation.await_resume());
      },
      operation_);
}

Status MessageRequest::look() noexcept {
  if (outcome_) return *outcome_;
  Status status;
  try {
    take_outcome(status);
  } catch (const internals::Error& error) {
    status = status_of_failed(error, received());
    if (cancelling_ && error.code() == std::errc::operation_canceled)
      status.cancelled = true;
    else
      note_error(status);
  } catch (...) {
    note_error(status);
  }
  outcome_ = status;
  return status;
}

void MessageRequest::settle() noexcept {
  if (completion_ != nullptr) World::get().progress().give_completion(*std::exchange(completion_, nullptr));
  operation_.emplace<std::monostate>();
  cancelling_ = false;
}

void MessageRequest::add_to(internals::SignalText& text) const noexcept {
  text.add("{}", receives_ ? "a receive" : "a send");
  add_message(text, receives_, arguments_.peer, arguments_.tag, *comm());
}

void MessageRequest::cancel() {
  if (is_done()) return;  // too late
  cancelling_ = true;
  completion_->cancel();
}

}  // namespace coracle::mpi
