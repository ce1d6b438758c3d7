// `coracle bench am`: active messages between ranks 0 and 1 beside the hand-over of a cache line.
#include <fmt/format.h>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/messages.hpp"
#include "apps/coracle/bench/raw.hpp"
#include "collectives/collectives.hpp"
#include "runtime/error.hpp"

namespace coracle::bench {
namespace {

constexpr std::uint32_t kPartner = 1;  // of rank 0

/// The same batches of plain loads and stores.
class RawMessages {
 public:
  RawMessages(Rank& self, const Messages& messages)
      : self_(self), messages_(messages), flag_(self.allocate<RawFlag>(1)), stream_(self.allocate<RawStream>(1)) {}

  Task<> meet() {
    const auto flags = co_await self_.world().gather_all(flag_.remote());
    const auto streams = co_await self_.world().gather_all(stream_.remote());
    their_out_ = self_.reach(messages_.their_out(), Messages::kLargest);
    raw_flag_ = self_.reach(flags[0]);
    raw_stream_ = self_.reach(streams[kPartner]);
    if (their_out_ == nullptr || raw_flag_ == nullptr || raw_stream_ == nullptr)
      throw Error(Errc::unsupported, "the limits of `coracle bench am` need ranks that share memory");
  }

  void ping_pong(std::size_t bytes, std::uint64_t count) const {
    if (self_.id() <= kPartner)
      raw_ping_pong(*raw_flag_, self_.id() == 0, their_out_, messages_.in().data(), bytes, count);
  }
  void stream(std::uint64_t count) {
    if (self_.id() == 0) {
      raw_stream_->send(streamed_, count);
      spin_until([&] { return raw_stream_->received.load() == streamed_ + count; });
    } else if (self_.id() == kPartner) {
      static_cast<void>(opaque(raw_stream_->receive(streamed_, count)));
    }
    streamed_ += count;
  }

 private:
  Rank& self_;
  const Messages& messages_;
  Slab<RawFlag> flag_;
  Slab<RawStream> stream_;
  const std::byte* their_out_ = nullptr;
  RawFlag* raw_flag_ = nullptr;
  RawStream* raw_stream_ = nullptr;
  std::uint64_t streamed_ = 0;
};

std::string title_of(Rank& self, const char* what) {
  return fmt::format("{}, placement {}", what, to_string(self.placement()));
}

Task<> bench_latency(Bench& bench, Messages& messages, const RawMessages& plain) {
  Contest contest(bench.self, bench.plan);
  const auto reply = contest.add([&](std::uint64_t count) { return messages.request_and_reply(0, count); });
  const auto request = contest.add([&](std::uint64_t count) { return messages.requests(sizeof count, count); });
  const auto signal = contest.add([&](std::uint64_t count) { return messages.put_signals(count); });
  const auto call = contest.add([&](std::uint64_t count) { return messages.calls(count); });
  const auto raw = contest.add_plain([&](std::uint64_t count) { plain.ping_pong(0, count); });
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

Task<> bench_size(Bench& bench, Messages& messages, const RawMessages& plain, std::size_t bytes) {
  const bool small = bytes <= bench.self.core().transport().reply_bytes_max();
  Contest contest(bench.self, bench.plan);
  const auto request = contest.add([=, &messages](std::uint64_t count) { return messages.requests(bytes, count); });
  const auto placed = contest.add([=, &messages](std::uint64_t count) { return messages.long_requests(bytes, count); });
  const auto raw = contest.add_plain([=, &plain](std::uint64_t count) { plain.ping_pong(bytes, count); });
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

Task<> bench_flood(Bench& bench, Messages& messages, RawMessages& plain) {
  Contest contest(bench.self, bench.plan);
  const auto flood = contest.add([&](std::uint64_t count) { return messages.flood(count); });
  const auto raw = contest.add_plain([&](std::uint64_t count) { plain.stream(count); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  bench.report.add(title_of(bench.self, "Flood of 8-byte messages, each"),
                   {"requests", "ns", contest.figure(flood), "a stream of cache lines", contest.figure(raw), 8,
                    contest.allocations(flood)});
}

}  // namespace

Task<> bench_am(Bench& bench) {
  Messages messages(bench.self, kPartner);
  co_await messages.meet();
  RawMessages plain(bench.self, messages);
  co_await plain.meet();
  co_await bench_latency(bench, messages, plain);
  co_await bench_flood(bench, messages, plain);
  const std::size_t largest = bench.plan.quick ? std::size_t{1} << 20 : Messages::kLargest;
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{64}, std::size_t{1} << 10, std::size_t{4} << 10, std::size_t{8} << 10,
        std::size_t{16} << 10, std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20, Messages::kLargest})
    if (bytes <= largest) co_await bench_size(bench, messages, plain, bytes);
}

}  // namespace coracle::bench
