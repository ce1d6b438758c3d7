// Handlers and the coroutines of both sides; and loops over flags.
#include "apps/bench/messages/messages.hpp"

#include <cstring>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rpc.hpp"

namespace coracle::internals::bench {
namespace {

void on_message(Rank& rank, const Message& message) {
  Mail& mail = rank.local<Mail>();
  mail.take(message);
  mail.arrived.set();
}

void on_ping(Rank& rank, const Message& message) {
  Mail& mail = rank.local<Mail>();
  mail.take(message);
  mail.count();
  if (message.payload().empty())
    message.reply(on_message, {}, {message.argument(0)});
  else
    message.reply(on_message, {mail.target, message.payload().size()}, {});
}

void on_counted(Rank& rank, const Message&) {
  rank.local<Mail>().count();
}

std::uint64_t echo(Rank&, std::uint64_t value) {
  return value;
}

}  // namespace

void Mail::take(const Message& message) const {
  if (!message.payload().empty()) std::memcpy(target, message.payload().data(), message.payload().size());
}

void Mail::count() {
  if (++counted >= expected) arrived.set();
}

Messages::Messages(Rank& self, std::uint32_t partner)
    : self_(self),
      partner_(partner),
      mail_(self.local<Mail>()),
      out_(self.allocate<std::byte>(kLargest)),
      in_(self.allocate<std::byte>(kLargest)),
      signal_(self.allocate_signals(1)),
      peer_(self.id() == 0 ? partner : 0) {
  mail_.target = in_.data();
}

Task<> Messages::meet() {
  const auto outs = co_await self_.world().gather_all(out_.remote());
  const auto ins = co_await self_.world().gather_all(in_.remote());
  const auto signals = co_await self_.world().gather_all(signal_.remote());
  their_out_ = outs[peer_];
  their_in_ = ins[peer_];
  their_signal_ = signals[peer_];
}

Task<> Messages::request_and_reply(std::size_t bytes, std::uint64_t count) {
  if (is_first()) return ping(bytes, count);
  return is_second() ? serve(count) : rest();
}

template <class Send>
Task<> Messages::in_turn(std::uint64_t count, Send send) {
  const bool first = is_first();
  if (!first && !is_second()) co_return;
  for (; count != 0; --count) {
    if (first) co_await send();
    co_await mail_.arrived;
    mail_.arrived.reset();
    if (!first) co_await send();
  }
}

Task<> Messages::requests(std::size_t bytes, std::uint64_t count) {
  return in_turn(count, [this, bytes] { return self_.request(peer_, on_message, payload(bytes)); });
}

Task<> Messages::long_requests(std::size_t bytes, std::uint64_t count) {
  return in_turn(count, [this, bytes] { return self_.request_long(on_message, payload(bytes), their_in_); });
}

Task<> Messages::put_signals(std::uint64_t count) {
  const bool first = is_first();
  if (!first && !is_second()) co_return;
  for (; count != 0; --count) {
    if (first) co_await self_.put_signal(payload(sizeof(std::uint64_t)), their_in_, their_signal_);
    ++signals_;
    co_await self_.wait(signal_[0], signals_);
    if (!first) co_await self_.put_signal(payload(sizeof(std::uint64_t)), their_in_, their_signal_);
  }
}

Task<> Messages::flood(std::uint64_t count) {
  if (is_first()) return send_all(count);
  return is_second() ? answer_all(count) : rest();
}

Task<> Messages::ping(std::size_t bytes, std::uint64_t count) {
  for (; count != 0; --count) {
    co_await self_.request(peer_, on_ping, payload(bytes), count);
    co_await mail_.arrived;
    mail_.arrived.reset();
  }
}

// Stays until its handlers have counted so many messages: what they, and the functions called, allocate is this
// batch's.
Task<> Messages::serve(std::uint64_t count) {
  mail_.expected = count;
  if (mail_.counted < count) co_await mail_.arrived;
  mail_.arrived.reset();
  mail_.counted = 0;
  mail_.expected = ~std::uint64_t{0};
}

Task<> Messages::calls(std::uint64_t count) {
  if (is_second()) co_await serve(1);
  if (!is_first()) co_return;
  for (; count != 0; --count) {
    const std::uint64_t value = co_await self_.call(peer_, echo, count);
    static_cast<void>(opaque(value));
  }
  co_await self_.request(peer_, on_counted, {}, count);
}

Task<> Messages::send_all(std::uint64_t count) {
  for (; count != 0; --count) co_await self_.request(peer_, on_counted, {}, count);
  co_await mail_.arrived;
  mail_.arrived.reset();
}

Task<> Messages::answer_all(std::uint64_t count) {
  co_await serve(count);
  co_await self_.request(peer_, on_message, {});
}

RawMessages::RawMessages(Rank& self, const Messages& messages, std::uint32_t partner)
    : self_(self),
      messages_(messages),
      partner_(partner),
      flag_(self.allocate<RawFlag>(1)),
      stream_(self.allocate<RawStream>(1)) {}

Task<> RawMessages::meet() {
  const auto flags = co_await self_.world().gather_all(flag_.remote());
  const auto streams = co_await self_.world().gather_all(stream_.remote());
  their_out_ = self_.reach(messages_.their_out(), Messages::kLargest);
  raw_flag_ = self_.reach(flags[0]);
  raw_stream_ = self_.reach(streams[partner_]);
  if (their_out_ == nullptr || raw_flag_ == nullptr || raw_stream_ == nullptr)
    throw Error(Errc::unsupported, "the limits of benchmarks of messages need ranks that share memory");
}

void RawMessages::ping_pong(std::size_t bytes, std::uint64_t count) const {
  if (self_.id() == 0 || self_.id() == partner_)
    raw_ping_pong(*raw_flag_, self_.id() == 0, their_out_, messages_.in().data(), bytes, count);
}

void RawMessages::stream(std::uint64_t count) {
  if (self_.id() == 0) {
    raw_stream_->send(streamed_, count);
    spin_until([&] { return raw_stream_->received.load() == streamed_ + count; });
  } else if (self_.id() == partner_) {
    static_cast<void>(opaque(raw_stream_->receive(streamed_, count)));
  }
  streamed_ += count;
}

}  // namespace coracle::internals::bench
