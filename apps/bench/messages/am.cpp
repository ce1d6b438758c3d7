// `coracle bench am`: active messages between ranks 0 and 1 beside the hand-over of a cache line.
#include <fmt/format.h>

#include <array>

#include "apps/bench/benchmarks.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "apps/bench/messages/messages.hpp"
#include "apps/bench/messages/raw_messages.hpp"

namespace coracle::internals::bench {
namespace {

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

Task<> bench_requests(Bench& bench, Messages& messages, const RawMessages& plain, std::size_t bytes) {
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
  const std::string size = size_text(bytes);
  const auto add = [&](const char* name, std::size_t contender) {
    bench.report.add(title,
                     contest.row(fmt::format("{}, {}", name, size), contender, "flag and one copy", raw, bytes, 0.5));
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
                   contest.row("requests", flood, "a stream of cache lines", raw, 8));
}

Task<> bench_am(Bench& bench) {
  Messages messages(bench.self, kPartner);
  co_await messages.meet();
  RawMessages plain(bench.self, messages, kPartner);
  co_await plain.meet();
  co_await bench_latency(bench, messages, plain);
  co_await bench_flood(bench, messages, plain);
  const std::size_t largest = bench.plan.quick ? std::size_t{1} << 20 : Messages::kLargest;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, std::size_t{1} << 10, std::size_t{4} << 10,
                                  std::size_t{8} << 10, std::size_t{16} << 10, std::size_t{64} << 10,
                                  std::size_t{256} << 10, std::size_t{1} << 20, std::size_t{8} << 20})
    if (bytes <= largest) co_await bench_requests(bench, messages, plain, bytes);
}

// --- between nodes ---

using Wait = PlainSockets::Wait;

class NodeMessages {
 public:
  explicit NodeMessages(Bench& bench)
      : bench_(bench), self_(bench.self), pair_(bench.self), messages_(bench.self, pair_.partner()) {}

  Task<> run() {
    co_await messages_.meet();
    co_await pair_.sockets().meet();
    co_await latency();
    co_await flood();
    const std::size_t largest = bench_.plan.quick ? std::size_t{64} << 10 : Messages::kLargest;
    for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{4} << 10, std::size_t{16} << 10,
                                    std::size_t{64} << 10, std::size_t{1} << 20, Messages::kLargest})
      if (bytes <= largest) co_await one_size(bytes);
  }

 private:
  void plain_round_trips(std::size_t bytes, std::uint64_t count, Wait wait) {
    pair_.round_trips(messages_.out().first(bytes), messages_.in().first(bytes), count, wait);
  }

  Task<> latency() {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    Contest contest(self_, bench_.plan);
    const auto reply = contest.add([&](std::uint64_t count) { return messages_.request_and_reply(0, count); });
    const auto request = contest.add([&](std::uint64_t count) { return messages_.requests(kBytes, count); });
    const auto signal = contest.add([&](std::uint64_t count) { return messages_.put_signals(count); });
    const auto call = contest.add([&](std::uint64_t count) { return messages_.calls(count); });
    const auto sleeping =
        contest.add_plain([&](std::uint64_t count) { plain_round_trips(kBytes, count, Wait::sleeping); });
    const auto spinning =
        contest.add_plain([&](std::uint64_t count) { plain_round_trips(kBytes, count, Wait::spinning); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string title = pair_.title("8 bytes there and back");
    const auto add = [&](const std::string& name, std::size_t contender) {
      const Row row = contest.row(name, contender, kSleepingName, sleeping, kBytes);
      bench_.report.add(title, row);
      bench_.report.add(title, beside(row, kSpinningName, contest.figure(spinning)));
    };
    add("request and reply, by handlers", reply);
    add("requests, coroutine to coroutine", request);
    add("puts with signals, coroutine to coroutine", signal);
    add("call of a function", call);
  }

  Task<> flood() {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    Contest contest(self_, bench_.plan);
    const auto ours = contest.add([&](std::uint64_t count) { return messages_.flood(count); });
    const auto stream = contest.add_plain([&](std::uint64_t count) {
      pair_.stream(messages_.out().first(kBytes), messages_.in().first(kBytes), true, count, Wait::sleeping);
    });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    bench_.report.add(pair_.title("Flood of 8-byte messages, each"),
                      contest.row("requests", ours, "sockets: a write each", stream, kBytes));
  }

  Task<> one_size(std::size_t bytes) {
    Contest contest(self_, bench_.plan);
    const auto request = contest.add([=, this](std::uint64_t count) { return messages_.requests(bytes, count); });
    const auto placed = contest.add([=, this](std::uint64_t count) { return messages_.long_requests(bytes, count); });
    const auto plain =
        contest.add_plain([=, this](std::uint64_t count) { plain_round_trips(bytes, count, Wait::sleeping); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string title = pair_.title("There and back by size, payload copied into the receiver's buffer");
    const auto add = [&](const char* name, std::size_t contender) {
      bench_.report.add(
          title, contest.row(fmt::format("{}, {}", name, size_text(bytes)), contender, kSleepingName, plain, bytes));
    };
    add("request", request);
    add("long request", placed);
  }

  Bench& bench_;
  Rank& self_;
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
