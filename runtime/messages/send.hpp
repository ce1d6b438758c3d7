// Send: what `co_await team.send(...)` awaits. A short message is one request to the transport, which mostly finishes
// at once: so that neither a coroutine nor an allocation is needed for it.
#pragma once

#include <cstdint>
#include <source_location>

#include "runtime/core/cpu.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/messages/bounce_buffers.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/rank/transfers.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

class Messages;

/// It begins when it is awaited.
class [[nodiscard]] Send {
 public:
  Send(Messages& messages, const Envelope& envelope, const MessageSource& source, RankCore& core, std::uint32_t peer);
  Send(Send&&) noexcept = default;  // of one that has not begun
  ~Send() = default;

  void awaited_at(const std::source_location& where) noexcept { request_.awaited_at(where); }
  bool await_ready();
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (offer_ != nullptr) return offer_->await_suspend(self);
    request_.await_suspend(self);
    return true;
  }
  void await_resume() {
    if (offer_ != nullptr) return offer_->await_resume();
    if (is_told_) [[unlikely]]
      end_telling();
    // The receiver has read the slot; the next message to be packed there would have to wait for its lines.
    if (buffer_) prefetch_for_writing(buffer_.data(), request_.bytes);
    request_.await_resume();
  }

 private:
  /// Of a message that does not go at once, and of one that is packed while all slots are taken.
  struct SlowPath;
  struct EndDetour {
    void operator()(SlowPath* detour) const noexcept;
  };
  /// What does not go as it lies.
  bool begin(std::uint32_t peer, bool at_once);
  /// A tool is told of one that goes at once; offers tell themselves.
  void begin_telling();
  void end_telling() noexcept;

  Messages& messages_;
  Envelope envelope_;
  MessageSource source_;
  Request request_;
  BounceBuffer buffer_;  // of one that is packed, unless the transport has room for it
  std::unique_ptr<SlowPath, EndDetour> slow_path_;
  Task<>* offer_ = nullptr;  // of the slow path
  bool is_told_ = false;
  std::uint64_t number_;  // where a tool is told
};

}  // namespace coracle::internals
