// A rank without a runtime, for the TCP protocol: a piece of memory, and a list of the messages that came.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/job/directory.hpp"
#include "transports/tcp/initiator.hpp"
#include "transports/tcp/responder.hpp"

namespace coracle::internals::test {

/// A function of this program, so that its address passes as a handler's.
inline void no_handler(coracle::internals::Rank&, const coracle::internals::Message&) {}

class FakeRank final : public coracle::internals::tcp::ResponderUser,
                       public coracle::internals::tcp::InitiatorUser,
                       public coracle::internals::tcp::ConnectionObserver {
 public:
  struct Received {
    std::uint64_t number;  // the first argument, or 0
    std::vector<std::byte> payload;
  };

  /// The segment that is the same memory, exposed, as long as it is not withdrawn.
  static constexpr std::uint32_t kExposed = 1;

  explicit FakeRank(std::size_t bytes) : memory(bytes) {}

  std::string on_hello(const Hello& hello) noexcept override {
    return coracle::internals::same_key(hello.key, key) ? std::string() : std::string("a wrong key");
  }
  std::byte* resolve(const coracle::internals::RemoteAddress& place, std::uint64_t bytes, bool,
                     std::error_code& error) noexcept override {
    const bool there = place.segment == 0 || (place.segment == kExposed && !withdrawn);
    if (there && place.offset <= memory.size() && bytes <= memory.size() - place.offset)
      return memory.data() + place.offset;
    error = coracle::internals::Errc::out_of_segment;
    return nullptr;
  }
  void raise_signal(std::byte* place, std::uint64_t add) noexcept override {
    std::uint64_t count;
    std::memcpy(&count, place, sizeof count);
    count += add;
    std::memcpy(place, &count, sizeof count);
  }
  void on_message(const coracle::internals::MessageHeader& header,
                  std::span<const std::byte> payload) noexcept override {
    requests.push_back(received(header, payload));
    if (replier == nullptr) return;
    coracle::internals::MessageHeader answer;
    answer.handler = header.handler;
    answer.argument_count = 1;
    answer.arguments[0] = requests.back().number;
    replier->reply(answer,
                   payload.first(std::min<std::size_t>(payload.size(), coracle::internals::tcp::kReplyBytesMax)));
  }
  void on_reply(const coracle::internals::MessageHeader& header, std::span<const std::byte> payload) noexcept override {
    replies.push_back(received(header, payload));
  }
  void changed() noexcept override { ++changes; }

  coracle::internals::JobKey key{};
  std::vector<std::byte> memory;
  bool withdrawn = false;
  coracle::internals::tcp::Responder* replier = nullptr;  // answers every message there
  std::vector<Received> requests;
  std::vector<Received> replies;
  int changes = 0;

 private:
  static Received received(const coracle::internals::MessageHeader& header, std::span<const std::byte> payload) {
    return {header.argument_count > 0 ? header.arguments[0] : 0, {payload.begin(), payload.end()}};
  }
};

}  // namespace coracle::internals::test
