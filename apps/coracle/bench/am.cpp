// `coracle bench am`: active messages between ranks 0 and 1 beside the hand-over of a cache line.
#include <fmt/format.h>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/messages.hpp"
#include "apps/coracle/bench/raw_messages.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint32_t kPartner = 1;  // of rank 0

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
  RawMessages plain(bench.self, messages, kPartner);
  co_await plain.meet();
  co_await bench_latency(bench, messages, plain);
  co_await bench_flood(bench, messages, plain);
  const std::size_t largest = bench.plan.quick ? std::size_t{1} << 20 : Messages::kLargest;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{64}, std::size_t{1} << 10, std::size_t{4} << 10,
                                  std::size_t{8} << 10, std::size_t{16} << 10, std::size_t{64} << 10,
                                  std::size_t{256} << 10, std::size_t{1} << 20, std::size_t{8} << 20})
    if (bytes <= largest) co_await bench_size(bench, messages, plain, bytes);
}

}  // namespace coracle::internals::bench
