// Active messages: a function that runs at the peer, with a few arguments and some payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/core/own_module.hpp"
#include "runtime/rank/operation.hpp"

namespace coracle::internals {

class Message;
class Rank;

/// Runs on the target's loop, inside its poller: it must be short, must not block, and may reply once. To do more it
/// spawns a task into `rank.service()`.
using Handler = void (*)(Rank& rank, const Message& message);

/// A handler's address, valid in every rank: its distance from the start of the module that it is part of, which lies
/// at another address in each rank: the one that holds the library, or, where that is a shared one, the main program.
class HandlerId {
 public:
  HandlerId() = default;
  /// The function must be part of one of the two; otherwise valid() is false.
  template <class R, class... Parameters>
  static HandlerId of(R (*function)(Parameters...)) noexcept {
    return of_code(reinterpret_cast<Code>(function));
  }
  static HandlerId from_wire(std::int64_t offset) noexcept { return HandlerId(offset); }
  std::int64_t to_wire() const noexcept { return offset_; }
  bool valid() const noexcept { return kOwnModule.holds_code(offset_) || is_in_program(); }
  /// Only for a valid id, and the type that it was made of.
  template <class Function>
  Function as() const noexcept {
    return reinterpret_cast<Function>(code());
  }

 private:
  using Code = void (*)();
  /// Of the program's: the distance, the program's digest above it, and this.
  static constexpr std::int64_t kInProgram = std::int64_t{1} << 62;
  static constexpr int kDigestShift = 46;

  static HandlerId of_code(Code code) noexcept {
    const HandlerId id(reinterpret_cast<const char*>(code) - kOwnModule.start);
    return kOwnModule.holds_code(id.offset_) ? id : in_program(code);
  }
  Code code() const noexcept {
    if (offset_ >= kInProgram) [[unlikely]]
      return code_in_program();
    return reinterpret_cast<Code>(reinterpret_cast<std::uintptr_t>(kOwnModule.start + offset_));
  }
  static HandlerId in_program(Code code) noexcept;
  /// False also for one of another program.
  bool is_in_program() const noexcept;
  std::ptrdiff_t offset_in_program() const noexcept;
  Code code_in_program() const noexcept;
  explicit HandlerId(std::int64_t offset) noexcept : offset_(offset) {}
  std::int64_t offset_ = -1;
};

/// What goes with the payload.
struct MessageHeader {
  static constexpr std::size_t kArgumentsMax = 5;
  HandlerId handler;
  std::uint32_t argument_count = 0;
  std::array<std::uint64_t, kArgumentsMax> arguments;  // the first argument_count are set
};

/// The way back to who has sent a message: its transport.
class ReplySender {
 public:
  /// Sends a reply from inside a handler; the payload is copied.
  virtual void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept = 0;
  virtual std::size_t reply_bytes_max() const noexcept = 0;

 protected:
  ~ReplySender() = default;
};

/// A message as its handler sees it. Valid only while the handler runs: payload and all.
class Message {
 public:
  Message(ReplySender& replies, std::uint32_t source, const MessageHeader& header, std::span<const std::byte> payload)
      : replies_(replies), header_(header), payload_(payload), source_(source) {}

  std::uint32_t source() const noexcept { return source_; }
  std::span<const std::byte> payload() const noexcept { return payload_; }
  std::uint64_t argument(std::size_t index) const noexcept { return header_.arguments[index]; }
  std::uint32_t argument_count() const noexcept { return header_.argument_count; }
  std::span<const std::uint64_t> arguments() const noexcept {
    return {header_.arguments.data(), header_.argument_count};
  }

  /// Sends an answer to the source, at most once, of at most reply_bytes_max() payload, which is copied. The
  /// answer's handler must not reply.
  void reply(Handler handler, std::span<const std::byte> payload, std::initializer_list<std::uint64_t> arguments) const;
  std::size_t reply_bytes_max() const noexcept;

 private:
  ReplySender& replies_;
  const MessageHeader& header_;
  std::span<const std::byte> payload_;
  std::uint32_t source_;
};

/// An operation of verb `request`: the payload is `local`, `bytes`.
class RequestOperation : public Operation {
 public:
  explicit RequestOperation(std::uint32_t peer) noexcept : Operation(Verb::request, "request", peer) {}
  MessageHeader header;
};

}  // namespace coracle::internals
