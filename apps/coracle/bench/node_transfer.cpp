// `coracle bench put` and `get` between nodes: latency and bandwidth by size beside plain sockets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "apps/coracle/bench/batches.hpp"
#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/node_bench.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

using Wait = PlainSockets::Wait;

constexpr std::size_t kLargest = std::size_t{64} << 20;
constexpr std::size_t kWindowMax = 64;

enum class Direction { put, get };

/// Rank 0 puts to its partner, or gets from it, who only serves.
class NodeSweep {
 public:
  NodeSweep(Bench& bench, Direction direction)
      : bench_(bench),
        self_(bench.self),
        direction_(direction),
        pair_(bench.self),
        data_(self_.allocate<std::byte>(kLargest)),
        place_(self_.allocate<std::byte>(kLargest)),
        largest_(bench.plan.quick ? std::size_t{1} << 20 : kLargest) {
    std::memset(data_.data(), 1, largest_);
    std::memset(place_.data(), 2, largest_);
  }

  Task<> run() {
    const auto places = co_await self_.world().gather_all(place_.remote());
    theirs_ = places[pair_.peer()];
    co_await pair_.sockets().meet();
    co_await single_values();
    for (std::size_t bytes = 8; bytes <= largest_; bytes *= bytes < 4096 ? 8 : 4) co_await one_size(bytes);
  }

 private:
  const char* verb() const noexcept { return direction_ == Direction::put ? "put" : "get"; }

  Task<> values(std::uint64_t count) {
    if (!pair_.asks()) return rest();
    const auto place = theirs_.as<std::uint64_t>();
    return direction_ == Direction::put ? put_values(self_, place, count) : get_values(self_, place, count);
  }
  Task<> awaited(std::size_t bytes, std::uint64_t count) {
    if (!pair_.asks()) return rest();
    if (direction_ == Direction::put) return puts(self_, data_.local().first(bytes), theirs_, count);
    return gets(self_, theirs_, place_.local().first(bytes), count);
  }
  Task<> at_once(std::size_t bytes, std::uint64_t count) {
    if (!pair_.asks()) return rest();
    const std::uint64_t window = std::clamp<std::uint64_t>(kLargest / bytes, 2, kWindowMax);
    if (direction_ == Direction::put) return puts_at_once(self_, data_.local().first(bytes), theirs_, count, window);
    return gets_at_once(self_, theirs_, place_.local().first(bytes), count, window);
  }
  /// There and back: `bytes` in the direction of the data, 8 bytes in the other.
  void plain_trips(std::size_t bytes, std::uint64_t count, Wait wait) {
    const bool puts = direction_ == Direction::put;
    pair_.round_trips(data_.local().first(puts ? bytes : 8), place_.local().first(puts ? 8 : bytes), count, wait);
  }
  void plain_stream(std::size_t bytes, std::uint64_t count, Wait wait) {
    pair_.stream(data_.local().first(bytes), place_.local().first(bytes), direction_ == Direction::put, count, wait);
  }

  Task<> single_values() {
    Contest contest(self_, bench_.plan);
    const auto ours = contest.add([this](std::uint64_t count) { return values(count); });
    const auto sleeping = contest.add_plain([this](std::uint64_t count) { plain_trips(8, count, Wait::sleeping); });
    const auto spinning = contest.add_plain([this](std::uint64_t count) { plain_trips(8, count, Wait::spinning); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string title = pair_.title(fmt::format("{} of 8 bytes, from its start to its end", verb()));
    const Row row{fmt::format("{}_value, 8 B", verb()),
                  "ns",
                  contest.figure(ours),
                  kSleepingName,
                  contest.figure(sleeping),
                  8,
                  contest.allocations(ours)};
    bench_.report.add(title, row);
    bench_.report.add(title, beside(row, kSpinningName, contest.figure(spinning)));
  }

  Task<> one_size(std::size_t bytes) {
    Contest contest(self_, bench_.plan);
    const auto one = contest.add([=, this](std::uint64_t count) { return awaited(bytes, count); });
    const auto trip = contest.add_plain([=, this](std::uint64_t count) { plain_trips(bytes, count, Wait::sleeping); });
    const auto many = contest.add([=, this](std::uint64_t count) { return at_once(bytes, count); });
    const auto sleeping =
        contest.add_plain([=, this](std::uint64_t count) { plain_stream(bytes, count, Wait::sleeping); });
    const auto spinning =
        contest.add_plain([=, this](std::uint64_t count) { plain_stream(bytes, count, Wait::spinning); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const auto size = static_cast<double>(bytes);
    bench_.report.add(pair_.title(fmt::format("{} by size, each awaited before the next", verb())),
                      {fmt::format("{}, {}", verb(), size_text(size)), "ns", contest.figure(one),
                       "sockets: as much there, 8 B back", contest.figure(trip), size, contest.allocations(one)});
    const Row row{fmt::format("{} at once, {}", verb(), size_text(size)),
                  "ns",
                  contest.figure(many),
                  "sockets: a stream, a write each (1 MiB at most)",
                  contest.figure(sleeping),
                  size,
                  contest.allocations(many)};
    const std::string title = pair_.title(fmt::format("{} by size, many under way", verb()));
    bench_.report.add(title, row);
    bench_.report.add(title, beside(row, "sockets: such a stream, spinning", contest.figure(spinning)));
  }

  Bench& bench_;
  Rank& self_;
  Direction direction_;
  NodePair pair_;
  Slab<std::byte> data_;
  Slab<std::byte> place_;
  std::size_t largest_;
  Remote<std::byte> theirs_;
};

}  // namespace

Task<> bench_node_put(Bench& bench) {
  NodeSweep sweep(bench, Direction::put);
  co_await sweep.run();
}

Task<> bench_node_get(Bench& bench) {
  NodeSweep sweep(bench, Direction::get);
  co_await sweep.run();
}

}  // namespace coracle::internals::bench
