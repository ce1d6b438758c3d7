// Responder: the end of a connection that is asked. It does what comes to this rank's memory, in order, and answers.
#pragma once

#include <memory>

#include "runtime/remote.hpp"
#include "transports/tcp/channel.hpp"

namespace coracle::internals::tcp {

/// What a responder acts on: this rank.
class ResponderUser {
 public:
  struct Hello {
    JobKey key;
    std::uint64_t program;
    std::uint32_t source;
    std::uint32_t target;
  };
  /// Empty: welcome. Else why not, for both sides to read.
  virtual std::string on_hello(const Hello& hello) noexcept = 0;
  /// The memory at a place of this rank, or why there is none.
  virtual std::byte* resolve(const RemoteAddress& place, std::uint64_t bytes, bool to_write,
                             std::error_code& error) noexcept = 0;
  virtual void raise_signal(std::byte* place, std::uint64_t add) noexcept = 0;
  virtual void on_message(const MessageHeader& header, std::span<const std::byte> payload) noexcept = 0;

 protected:
  ~ResponderUser() = default;
};

class Responder final : public Channel {
 public:
  Responder(ResponderUser& user, ChannelWatcher& watcher, std::uint32_t check) noexcept
      : Channel(watcher, End::responder, check), user_(user) {}

  bool greeted() const noexcept { return greeted_; }
  /// Sends a reply; the payload is copied.
  void reply(const MessageHeader& header, std::span<const std::byte> payload);
  /// Says that nothing follows.
  void leave() { say_goodbye(); }

  /// What a peer asks for without reading the answers must not fill our memory.
  bool wants_input() const noexcept override { return outbox_.held_bytes() < kOutboxBytesMax; }
  /// What the peer had still to get before the connection could go has left.
  void drained() noexcept override { tell_again_if_ended(); }

 private:
  static constexpr std::size_t kOutboxBytesMax = 1024 * 1024;

  void whole(const Frame& frame, std::span<const std::byte> payload) noexcept override;
  std::byte* begin(const Frame& frame) noexcept override;
  void end(const Frame& frame) noexcept override;
  void input_taken() noexcept override;

  void take_hello(const Frame& frame) noexcept;
  std::byte* begin_put(const Frame& frame) noexcept;
  void end_put() noexcept;
  void take_get(const Frame& frame) noexcept;
  void take_atomic(const Frame& frame) noexcept;
  void take_message(const Frame& frame, std::span<const std::byte> payload) noexcept;
  void answer_done() noexcept;
  void answer_failure(std::error_code error) noexcept;

  ResponderUser& user_;
  bool greeted_ = false;
  std::uint64_t done_ = 0;  // puts that no answer has told of yet
  // The put or message whose payload is coming.
  std::error_code error_;
  std::byte* signal_ = nullptr;
  std::uint64_t signal_add_ = 0;
  std::unique_ptr<std::byte[]> payload_;
};

/// An error's two words in a frame. Codes of other categories than errno's and Coracle's own travel as EIO.
std::array<std::uint64_t, 2> error_words(const std::error_code& error) noexcept;
std::error_code read_error(std::uint64_t value, std::uint64_t category) noexcept;

}  // namespace coracle::internals::tcp
