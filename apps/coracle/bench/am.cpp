// `coracle bench am`: active messages between ranks 0 and 1 beside the hand-over of a cache line.
#include <fmt/format.h>

#include <cstring>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/raw.hpp"
#include "collectives/collectives.hpp"
#include "runtime/error.hpp"
#include "runtime/event.hpp"
#include "runtime/rpc.hpp"

namespace coracle::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{8} << 20;
constexpr std::uint32_t kPartner = 1;  // of rank 0

/// What this rank's handlers fill.
struct Mail {
  explicit Mail(Rank&) noexcept {}
  Event arrived;
  std::byte* target = nullptr;
  std::uint64_t counted = 0;
  std::uint64_t expected = ~std::uint64_t{0};

  void take(const Message& message) const {
    if (!message.payload().empty()) std::memcpy(target, message.payload().data(), message.payload().size());
  }
  void count() {
    if (++counted >= expected) arrived.set();
  }
};

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

Task<> rest() {
  co_return;
}

/// The batches: `first` is rank 0's part, which takes the time, `second` its partner's.
class Messages {
 public:
  explicit Messages(Rank& self)
      : self_(self),
        mail_(self.local<Mail>()),
        out_(self.allocate<std::byte>(kLargest)),
        in_(self.allocate<std::byte>(kLargest)),
        signal_(self.allocate_signals(1)),
        flag_(self.allocate<RawFlag>(1)),
        stream_(self.allocate<RawStream>(1)) {
    mail_.target = in_.data();
  }

  Task<> meet() {
    const auto outs = co_await self_.world().gather_all(out_.remote());
    const auto ins = co_await self_.world().gather_all(in_.remote());
    const auto signals = co_await self_.world().gather_all(signal_.remote());
    const auto flags = co_await self_.world().gather_all(flag_.remote());
    const auto streams = co_await self_.world().gather_all(stream_.remote());
    peer_ = self_.id() == 0 ? kPartner : 0;
    their_out_ = self_.reach(outs[peer_], kLargest);
    their_in_ = ins[peer_];
    their_signal_ = signals[peer_];
    raw_flag_ = self_.reach(flags[0]);
    raw_stream_ = self_.reach(streams[kPartner]);
    if (their_out_ == nullptr || raw_flag_ == nullptr || raw_stream_ == nullptr)
      throw Error(Errc::unsupported, "the limits of `coracle bench am` need ranks that share memory");
  }

  /// A request whose handler replies.
  Task<> request_and_reply(std::size_t bytes, std::uint64_t count) {
    if (self_.id() == 0) return ping(bytes, count);
    return self_.id() == kPartner ? serve(count) : rest();
  }
  /// Requests both ways, from coroutine to coroutine.
  Task<> requests(std::size_t bytes, std::uint64_t count) {
    if (self_.id() == 0) return first_request(bytes, count);
    return self_.id() == kPartner ? second_request(bytes, count) : rest();
  }
  /// As requests, but the payload is put into the peer's memory.
  Task<> long_requests(std::size_t bytes, std::uint64_t count) {
    if (self_.id() == 0) return first_long(bytes, count);
    return self_.id() == kPartner ? second_long(bytes, count) : rest();
  }
  Task<> put_signals(std::uint64_t count) {
    if (self_.id() == 0) return first_signal(count);
    return self_.id() == kPartner ? second_signal(count) : rest();
  }
  Task<> calls(std::uint64_t count) { return self_.id() == 0 ? call(count) : rest(); }
  Task<> flood(std::uint64_t count) {
    if (self_.id() == 0) return send_all(count);
    return self_.id() == kPartner ? answer_all(count) : rest();
  }
  void raw_ping_pong(std::size_t bytes, std::uint64_t count) {
    if (self_.id() <= kPartner) bench::raw_ping_pong(*raw_flag_, self_.id() == 0, their_out_, in_.data(), bytes, count);
  }
  void raw_stream(std::uint64_t count) {
    if (self_.id() == 0) {
      raw_stream_->send(streamed_, count);
      spin_until([&] { return raw_stream_->received.load() == streamed_ + count; });
    } else if (self_.id() == kPartner) {
      static_cast<void>(opaque(raw_stream_->receive(streamed_, count)));
    }
    streamed_ += count;
  }

 private:
  std::span<const std::byte> payload(std::size_t bytes) const noexcept { return out_.local().first(bytes); }

  Task<> ping(std::size_t bytes, std::uint64_t count) {
    for (; count != 0; --count) {
      co_await self_.request(peer_, on_ping, payload(bytes), count);
      co_await mail_.arrived;
      mail_.arrived.reset();
    }
  }
  /// Stays until its handlers have counted so many messages: what they allocate is this batch's.
  Task<> serve(std::uint64_t count) {
    mail_.expected = count;
    if (mail_.counted < count) co_await mail_.arrived;
    mail_.arrived.reset();
    mail_.counted = 0;
    mail_.expected = ~std::uint64_t{0};
  }
  Task<> first_request(std::size_t bytes, std::uint64_t count) {
    for (; count != 0; --count) {
      co_await self_.request(peer_, on_message, payload(bytes));
      co_await mail_.arrived;
      mail_.arrived.reset();
    }
  }
  Task<> second_request(std::size_t bytes, std::uint64_t count) {
    for (; count != 0; --count) {
      co_await mail_.arrived;
      mail_.arrived.reset();
      co_await self_.request(peer_, on_message, payload(bytes));
    }
  }
  Task<> first_long(std::size_t bytes, std::uint64_t count) {
    for (; count != 0; --count) {
      co_await self_.request_long(on_message, payload(bytes), their_in_);
      co_await mail_.arrived;
      mail_.arrived.reset();
    }
  }
  Task<> second_long(std::size_t bytes, std::uint64_t count) {
    for (; count != 0; --count) {
      co_await mail_.arrived;
      mail_.arrived.reset();
      co_await self_.request_long(on_message, payload(bytes), their_in_);
    }
  }
  Task<> first_signal(std::uint64_t count) {
    for (; count != 0; --count) {
      co_await self_.put_signal(payload(sizeof(std::uint64_t)), their_in_, their_signal_);
      ++signals_;
      co_await self_.wait(signal_[0], signals_);
    }
  }
  Task<> second_signal(std::uint64_t count) {
    for (; count != 0; --count) {
      ++signals_;
      co_await self_.wait(signal_[0], signals_);
      co_await self_.put_signal(payload(sizeof(std::uint64_t)), their_in_, their_signal_);
    }
  }
  Task<> call(std::uint64_t count) {
    for (; count != 0; --count) {
      const std::uint64_t value = co_await self_.call(peer_, echo, count);
      static_cast<void>(opaque(value));
    }
  }
  Task<> send_all(std::uint64_t count) {
    for (; count != 0; --count) co_await self_.request(peer_, on_counted, {}, count);
    co_await mail_.arrived;
    mail_.arrived.reset();
  }
  Task<> answer_all(std::uint64_t count) {
    co_await serve(count);
    co_await self_.request(peer_, on_message, {});
  }

  Rank& self_;
  Mail& mail_;
  Slab<std::byte> out_;
  Slab<std::byte> in_;
  Slab<Signal> signal_;
  Slab<RawFlag> flag_;
  Slab<RawStream> stream_;
  std::uint32_t peer_ = 0;
  const std::byte* their_out_ = nullptr;
  Remote<std::byte> their_in_;
  Remote<Signal> their_signal_;
  RawFlag* raw_flag_ = nullptr;
  RawStream* raw_stream_ = nullptr;
  std::uint64_t signals_ = 0;
  std::uint64_t streamed_ = 0;
};

std::string title_of(Rank& self, const char* what) {
  return fmt::format("{}, placement {}", what, to_string(self.placement()));
}

Task<> bench_latency(Bench& bench, Messages& messages) {
  Contest contest(bench.self, bench.plan);
  const auto reply = contest.add([&](std::uint64_t count) { return messages.request_and_reply(0, count); });
  const auto request = contest.add([&](std::uint64_t count) { return messages.requests(sizeof count, count); });
  const auto signal = contest.add([&](std::uint64_t count) { return messages.put_signals(count); });
  const auto call = contest.add([&](std::uint64_t count) { return messages.calls(count); });
  const auto raw = contest.add_plain([&](std::uint64_t count) { messages.raw_ping_pong(0, count); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  const std::string title = title_of(bench.self, "8 bytes, half a round trip");
  const auto add = [&](const char* name, std::size_t contender, std::optional<double> allocations) {
    bench.report.add(title, {name, "ns", scaled(contest.figure(contender), 0.5), "hand-over of a cache line",
                             scaled(contest.figure(raw), 0.5), 8, allocations});
  };
  add("request and reply, by handlers", reply, contest.allocations(reply));
  add("requests, coroutine to coroutine", request, contest.allocations(request));
  add("put with signal, coroutine to coroutine", signal, contest.allocations(signal));
  add("call of a function", call, std::nullopt);
}

Task<> bench_size(Bench& bench, Messages& messages, std::size_t bytes) {
  const bool small = bytes <= bench.self.core().transport().reply_bytes_max();
  Contest contest(bench.self, bench.plan);
  const auto request = contest.add([=, &messages](std::uint64_t count) { return messages.requests(bytes, count); });
  const auto placed = contest.add([=, &messages](std::uint64_t count) { return messages.long_requests(bytes, count); });
  const auto raw = contest.add_plain([=, &messages](std::uint64_t count) { messages.raw_ping_pong(bytes, count); });
  const auto reply =
      !small ? request
             : contest.add([=, &messages](std::uint64_t count) { return messages.request_and_reply(bytes, count); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  const std::string title =
      title_of(bench.self, "Half a round trip by size, payload copied into the receiver's buffer");
  const std::string size = size_text(static_cast<double>(bytes));
  const auto add = [&](const char* name, std::size_t contender) {
    bench.report.add(
        title, {fmt::format("{}, {}", name, size), "ns", scaled(contest.figure(contender), 0.5), "flag and one copy",
                scaled(contest.figure(raw), 0.5), static_cast<double>(bytes), contest.allocations(contender)});
  };
  add("request", request);
  add("long request", placed);
  if (small) add("request and reply", reply);
}

Task<> bench_flood(Bench& bench, Messages& messages) {
  Contest contest(bench.self, bench.plan);
  const auto flood = contest.add([&](std::uint64_t count) { return messages.flood(count); });
  const auto raw = contest.add_plain([&](std::uint64_t count) { messages.raw_stream(count); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  bench.report.add(title_of(bench.self, "Flood of 8-byte messages, each"),
                   {"requests", "ns", contest.figure(flood), "a stream of cache lines", contest.figure(raw), 8,
                    contest.allocations(flood)});
}

}  // namespace

Task<> bench_am(Bench& bench) {
  Messages messages(bench.self);
  co_await messages.meet();
  co_await bench_latency(bench, messages);
  co_await bench_flood(bench, messages);
  const std::size_t largest = bench.plan.quick ? std::size_t{1} << 20 : kLargest;
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{64}, std::size_t{1} << 10, std::size_t{4} << 10, std::size_t{8} << 10,
        std::size_t{16} << 10, std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20, kLargest})
    if (bytes <= largest) co_await bench_size(bench, messages, bytes);
}

}  // namespace coracle::bench
