// Send: what `co_await team.send(...)` awaits. A short message is one request to the transport, which mostly finishes
// at once: so that neither a coroutine nor an allocation is needed for it.
#pragma once

#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "runtime/messages/envelope.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/stage.hpp"
#include "runtime/task.hpp"
#include "runtime/transfers.hpp"

namespace coracle {

class Messages;

/// It begins when it is awaited.
class [[nodiscard]] Send {
 public:
  /// `request`: the message, as it goes if it may go at once.
  Send(Messages& messages, const Envelope& envelope, const MessageSource& source, Request&& request) noexcept
      : messages_(messages), envelope_(envelope), source_(source), request_(std::move(request)) {}

  void awaited_at(const std::source_location& where) noexcept { request_.awaited_at(where); }
  bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (offer_) return offer_->await_suspend(self);
    request_.await_suspend(self);
    return true;
  }
  void await_resume() {
    if (offer_)
      offer_->await_resume();
    else
      request_.await_resume();
  }

 private:
  /// What does not go as it lies.
  bool begin(std::uint32_t peer, bool at_once);

  Messages& messages_;
  Envelope envelope_;
  MessageSource source_;
  Request request_;
  std::optional<Task<>> offer_;  // of one that may not
  // Of one that is packed first:
  std::optional<StageSlot> slot_;
  std::vector<std::byte> heap_;
};

}  // namespace coracle
