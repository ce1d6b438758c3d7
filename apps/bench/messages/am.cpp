// `coracle bench am`: active messages between ranks 0 and 1 beside the hand-over of a cache line.
#include <fmt/format.h>

#include <initializer_list>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "apps/bench/messages/messages.hpp"

namespace coracle::internals::bench {
namespace {

std::string title_of(Rank& self, const char* what) {
  return fmt::format("{}, placement {}", what, to_string(self.placement()));
}

/// Of 8 bytes, by each way that there is.
void add_round_trips(Comparison& comparison, Messages& messages, const char* by_signals) {
  comparison.add("request and reply, by handlers",
                 [&messages](std::uint64_t count) { return messages.request_and_reply(0, count); });
  comparison.add("requests, coroutine to coroutine",
                 [&messages](std::uint64_t count) { return messages.requests(sizeof count, count); });
  comparison.add(by_signals, [&messages](std::uint64_t count) { return messages.put_signals(count); });
  comparison.add("call of a function", [&messages](std::uint64_t count) { return messages.calls(count); });
}

Task<> bench_latency(Bench& bench, Messages& messages, const RawMessages& plain) {
  Comparison comparison(bench, title_of(bench.self, "8 bytes, half a round trip"), 8, 0.5);
  add_round_trips(comparison, messages, "put with signal, coroutine to coroutine");
  comparison.add_limit("hand-over of a cache line", [&](std::uint64_t count) { plain.ping_pong(0, count); });
  co_await comparison.run();
}

Task<> bench_requests(Bench& bench, Messages& messages, const RawMessages& plain, std::size_t bytes) {
  const std::string size = size_text(bytes);
  Comparison comparison(
      bench, title_of(bench.self, "Half a round trip by size, payload copied into the receiver's buffer"), bytes, 0.5);
  comparison.add("request, " + size, [&](std::uint64_t count) { return messages.requests(bytes, count); });
  comparison.add("long request, " + size, [&](std::uint64_t count) { return messages.long_requests(bytes, count); });
  if (bytes <= bench.self.core().transport().reply_bytes_max())
    comparison.add("request and reply, " + size,
                   [&](std::uint64_t count) { return messages.request_and_reply(bytes, count); });
  comparison.add_limit("flag and one copy", [&](std::uint64_t count) { plain.ping_pong(bytes, count); });
  co_await comparison.run();
}

Task<> bench_flood(Bench& bench, Messages& messages, RawMessages& plain) {
  Comparison comparison(bench, title_of(bench.self, "Flood of 8-byte messages, each"), 8);
  comparison.add("requests", [&](std::uint64_t count) { return messages.flood(count); });
  comparison.add_limit("a stream of cache lines", [&](std::uint64_t count) { plain.stream(count); });
  co_await comparison.run();
}

Task<> bench_am(Bench& bench) {
  Messages messages(bench.self, kPartner);
  co_await messages.meet();
  RawMessages plain(bench.self, messages, kPartner);
  co_await plain.meet();
  co_await bench_latency(bench, messages, plain);
  co_await bench_flood(bench, messages, plain);
  const std::size_t largest = bench.plan.quick ? std::size_t{1} << 20 : Messages::kLargest;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{8, 64, 1 << 10, 4 << 10, 8 << 10, 16 << 10,
                                                                    64 << 10, 256 << 10, 1 << 20, 8 << 20})
    if (bytes <= largest) co_await bench_requests(bench, messages, plain, bytes);
}

// --- between nodes ---

using Wait = PlainSockets::Wait;

class NodeMessages {
 public:
  explicit NodeMessages(Bench& bench) : bench_(bench), pair_(bench.self), messages_(bench.self, pair_.partner()) {}

  Task<> run() {
    co_await messages_.meet();
    co_await pair_.sockets().meet();
    co_await latency();
    co_await flood();
    const std::size_t largest = bench_.plan.quick ? std::size_t{64} << 10 : Messages::kLargest;
    for (const std::size_t bytes :
         std::initializer_list<std::size_t>{1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20, 16 << 20})
      if (bytes <= largest) co_await one_size(bytes);
  }

 private:
  Contest::PlainBatch plain_round_trips(std::size_t bytes, Wait wait) const {
    return pair_.round_trips(messages_.out().first(bytes), messages_.in().first(bytes), wait);
  }

  Task<> latency() {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    Comparison comparison(bench_, pair_.title("8 bytes there and back"), kBytes);
    add_round_trips(comparison, messages_, "puts with signals, coroutine to coroutine");
    comparison.add_limit(kSleepingName, plain_round_trips(kBytes, Wait::sleeping));
    comparison.add_limit(kSpinningName, plain_round_trips(kBytes, Wait::spinning));
    co_await comparison.run();
  }

  Task<> flood() {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    Comparison comparison(bench_, pair_.title("Flood of 8-byte messages, each"), kBytes);
    comparison.add("requests", [&](std::uint64_t count) { return messages_.flood(count); });
    comparison.add_limit("sockets: a write each", pair_.stream(messages_.out().first(kBytes),
                                                               messages_.in().first(kBytes), true, Wait::sleeping));
    co_await comparison.run();
  }

  Task<> one_size(std::size_t bytes) {
    Comparison comparison(bench_, pair_.title("There and back by size, payload copied into the receiver's buffer"),
                          bytes);
    comparison.add("request, " + size_text(bytes),
                   [&](std::uint64_t count) { return messages_.requests(bytes, count); });
    comparison.add("long request, " + size_text(bytes),
                   [&](std::uint64_t count) { return messages_.long_requests(bytes, count); });
    comparison.add_limit(kSleepingName, plain_round_trips(bytes, Wait::sleeping));
    co_await comparison.run();
  }

  Bench& bench_;
  NodePair pair_;
  Messages messages_;
};

Task<> bench_node_am(Bench& bench) {
  NodeMessages messages(bench);
  co_await messages.run();
}

}  // namespace

std::unique_ptr<Benchmark> am_benchmark() {
  return benchmark_of({.name = "am", .help = "active messages beside the hand-over of a cache line", .ranks_min = 2},
                      bench_am, bench_node_am);
}

}  // namespace coracle::internals::bench
