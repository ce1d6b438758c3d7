// How messages are begun and ended by requests.
#include "interfaces/mpi/core/message_requests.hpp"

#include "interfaces/mpi/core/buffered_sends.hpp"
#include "interfaces/mpi/core/call_notes.hpp"

namespace coracle::mpi {
namespace {

void add(internals::SignalText& text, bool is_receive, int rank, int tag, const Comm& comm) noexcept {
  text.add("{}", is_receive ? "a receive" : "a send");
  add_message(text, is_receive, rank, tag, comm);
}

}  // namespace

constinit RequestPool SendRequest::pool_;
constinit RequestPool ReceiveRequest::pool_;

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
  static auto* const made = new EndedSend;  // never destroyed: as the pools
  made->take();
  return made;
}

// --- sends ---

Request* SendRequest::make(const MessageArguments& arguments, SendMode mode, bool persistent) {
  auto made = Ref<SendRequest>::adopt(new SendRequest(arguments, mode, persistent));
  if (!persistent) made->begin();
  return made.give();
}

template <class Operation>
void SendRequest::wait_for(Operation& operation) {
  if (!operation.await_ready()) completion_ = &World::get().progress().begin(operation);
}

void SendRequest::begin() {
  outcome_.reset();
  if (arguments_.peer == kProcNull) {
    outcome_ = Status{};
    return;
  }
  const auto to = static_cast<std::uint32_t>(arguments_.peer);
  const auto tag = static_cast<std::uint64_t>(arguments_.tag);
  const internals::RendezvousSends::Unattended unattended(internals::Messages::of(comm()->team().rank()).sends());
  switch (mode_) {
    case SendMode::standard:
    case SendMode::ready:
      return wait_for(operation_.emplace<internals::Send>(MadeInPlace{[this] { return arguments_.send(); }}));
    case SendMode::synchronous:
      return wait_for(
          operation_.emplace<internals::Task<>>(comm()->team().send_synchronously(arguments_.source(), to, tag)));
    case SendMode::buffered:
      World::get().buffered_sends().send(*comm(), arguments_.source(), to, tag);
      outcome_ = Status{};
  }
}

Status SendRequest::look() noexcept {
  if (outcome_) return *outcome_;
  Status status;
  try {
    std::visit(
        []<class Operation>(Operation& operation) {
          if constexpr (!std::is_same_v<Operation, std::monostate>) operation.await_resume();
        },
        operation_);
  } catch (...) {
    note_end_of(cancelling_, status);
  }
  outcome_ = status;  // operations give their error once
  return status;
}

void SendRequest::settle() noexcept {
  if (completion_ != nullptr) World::get().progress().give_completion(*std::exchange(completion_, nullptr));
  operation_.emplace<std::monostate>();
  cancelling_ = false;
}

void SendRequest::add_to(internals::SignalText& text) const noexcept {
  add(text, false, arguments_.rank(), arguments_.tag, *arguments_.comm);
}

void SendRequest::cancel() {
  if (is_done()) return;  // too late
  cancelling_ = true;
  completion_->cancel();
}

// --- receives ---

Status ReceiveRequest::look() noexcept {
  if (!receive_) return null_status();
  if (receive_->has_failed()) [[unlikely]]
    return look_at_failed(*receive_);
  return status_of(receive_->received(), *comm());
}

[[gnu::cold]] Status ReceiveRequest::look_at_failed(const internals::Receive& receive) noexcept {
  Status status;
  try {
    receive.await_resume();
  } catch (const internals::Error& error) {
    status = status_of_failed(error, receive.received(), *comm());
    note_end_of(cancelling_, status);
  } catch (...) {
    note_error(status);
  }
  return status;
}

void ReceiveRequest::add_to(internals::SignalText& text) const noexcept {
  if (!receive_) return add(text, true, kProcNull, kAnyTag, *comm());
  const internals::Envelope& wanted = receive_->wanted;
  const bool is_any = wanted.source == internals::kAnySource;
  add(text, true, is_any ? kAnySource : static_cast<int>(wanted.source) - comm()->first_peer(),
      wanted.tag == internals::kAnyTag ? kAnyTag : static_cast<int>(wanted.tag), *comm());
}

void ReceiveRequest::cancel() {
  if (!receive_ || !receive_->is_under_way()) return;  // too late
  cancelling_ = true;
  receive_->withdraw();
}

// --- receives of matched messages ---

MatchedRequest::MatchedRequest(internals::MatchedMessage& message, const MessageArguments& arguments)
    : Request(arguments.comm, false),
      arguments_(arguments),
      datatype_(arguments.datatype_in_use()),
      of_(message.info()),
      receiving_(message.recv(arguments.target())),
      completion_(&World::get().progress().begin(receiving_, AtFinalize::withdrawn)) {}

Status MatchedRequest::look() noexcept {
  if (outcome_) return *outcome_;
  Status status;
  try {
    status = status_of(receiving_.await_resume(), *arguments_.comm);
  } catch (const internals::Error& error) {
    status = status_of_failed(error, of_, *arguments_.comm);
    note_error(status);
  } catch (...) {
    note_error(status);
  }
  outcome_ = status;  // a task gives its value once
  return status;
}

void MatchedRequest::settle() noexcept {
  World::get().progress().give_completion(*std::exchange(completion_, nullptr));
}

void MatchedRequest::add_to(internals::SignalText& text) const noexcept {
  add(text, true, arguments_.rank(), arguments_.tag, *arguments_.comm);
}

}  // namespace coracle::mpi
