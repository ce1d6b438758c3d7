// `coracle bench am` between nodes: active messages beside plain sockets.
#include <fmt/format.h>

#include <array>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/messages.hpp"
#include "apps/coracle/bench/node_bench.hpp"

namespace coracle::internals::bench {
namespace {

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
      const Row row{name,
                    "ns",
                    contest.figure(contender),
                    kSleepingName,
                    contest.figure(sleeping),
                    kBytes,
                    contest.allocations(contender)};
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
                      {"requests", "ns", contest.figure(ours), "sockets: a write each", contest.figure(stream), kBytes,
                       contest.allocations(ours)});
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
      const auto size = static_cast<double>(bytes);
      bench_.report.add(title, {fmt::format("{}, {}", name, size_text(size)), "ns", contest.figure(contender),
                                kSleepingName, contest.figure(plain), size, contest.allocations(contender)});
    };
    add("request", request);
    add("long request", placed);
  }

  Bench& bench_;
  Rank& self_;
  NodePair pair_;
  Messages messages_;
};

}  // namespace

Task<> bench_node_am(Bench& bench) {
  NodeMessages messages(bench);
  co_await messages.run();
}

}  // namespace coracle::internals::bench
