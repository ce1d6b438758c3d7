// `coracle bench put` and `get`: one-sided transfers to the neighbour beside memcpy between buffers of the same
// kind; and between nodes, latency and bandwidth beside plain sockets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;

/// A size sweep's memory on each rank: data, a place that the neighbour uses, and a place of its own for memcpy.
struct Buffers {
  explicit Buffers(Rank& self)
      : data(self.allocate<std::byte>(kLargest)),
        shared(self.allocate<std::byte>(kLargest)),
        own(self.allocate<std::byte>(kLargest)) {
    std::memset(data.data(), 1, kLargest);
  }
  Slab<std::byte> data;
  Slab<std::byte> shared;
  Slab<std::byte> own;
};

void copies(std::byte* target, const std::byte* source, std::size_t bytes, std::uint64_t count) {
  for (; count != 0; --count) {
    std::memcpy(target, source, opaque(bytes));
    fence_compiler();
  }
}

enum class Direction { put, get };

class TransferSweep {
 public:
  TransferSweep(Bench& bench, Direction direction)
      : bench_(bench), self_(bench.self), direction_(direction), mine_(bench.self) {}

  Task<> run() {
    peers_ = co_await self_.world().gather_all(mine_.shared.remote());
    peer_ = (self_.id() + 1) % self_.size();
    co_await beside(fmt::format("{}_value, 8 B", verb()), 8, false,
                    [this](std::uint64_t count) { return value_transfers(count); });
    for (std::size_t bytes = 8; bytes <= kLargest; bytes *= bytes < 4096 ? 8 : 4)
      co_await beside(fmt::format("{}, {}", verb(), size_text(bytes)), bytes, false,
                      [=, this](std::uint64_t count) { return transfers(bytes, count); });
    for (const std::size_t bytes : {std::size_t{1} << 20, kLargest})
      co_await beside(fmt::format("{}, {}, all ranks at once, each", verb(), size_text(bytes)), bytes, true,
                      [=, this](std::uint64_t count) { return transfers(bytes, count); });
  }

 private:
  const char* verb() const noexcept { return direction_ == Direction::put ? "put" : "get"; }
  std::string title() const {
    return fmt::format("{} between a rank and its neighbour, placement {}", verb(), to_string(self_.placement()));
  }

  Task<> transfers(std::size_t bytes, std::uint64_t count) {
    if (direction_ == Direction::put) return puts(self_, mine_.data.local().first(bytes), peers_[peer_], count);
    return gets(self_, peers_[peer_], mine_.own.local().first(bytes), count);
  }
  Task<> value_transfers(std::uint64_t count) {
    const auto place = peers_[peer_].as<std::uint64_t>();
    return direction_ == Direction::put ? put_values(self_, place, count) : get_values(self_, place, count);
  }

  /// Only one rank moves data, and the others are there and wait; or all do at once.
  Task<> beside(std::string name, std::size_t bytes, bool all, Contest::Batch ours) {
    const bool active = all || self_.id() == 0;
    Comparison comparison(bench_, title(), bytes);
    comparison.add(std::move(name), [&](std::uint64_t count) { return active ? ours(count) : rest(); });
    comparison.add_limit(all ? "memcpy, all ranks at once, each" : "memcpy, one core", [&](std::uint64_t count) {
      if (active) copies(mine_.own.data(), mine_.data.data(), bytes, count);
    });
    co_await comparison.run();
  }

  Bench& bench_;
  Rank& self_;
  Direction direction_;
  Buffers mine_;
  std::vector<Remote<std::byte>> peers_;
  std::uint32_t peer_ = 0;
};

// --- between nodes ---

using Wait = PlainSockets::Wait;

constexpr std::size_t kWindowMax = 64;

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
    Comparison comparison(bench_, pair_.title(fmt::format("{} of 8 bytes, from its start to its end", verb())), 8);
    comparison.add(fmt::format("{}_value, 8 B", verb()), [this](std::uint64_t count) { return values(count); });
    comparison.add_limit(kSleepingName, [this](std::uint64_t count) { plain_trips(8, count, Wait::sleeping); });
    comparison.add_limit(kSpinningName, [this](std::uint64_t count) { plain_trips(8, count, Wait::spinning); });
    co_await comparison.run();
  }

  Task<> one_size(std::size_t bytes) {
    Comparison awaiting(bench_, pair_.title(fmt::format("{} by size, each awaited before the next", verb())), bytes);
    awaiting.add(fmt::format("{}, {}", verb(), size_text(bytes)),
                 [=, this](std::uint64_t count) { return awaited(bytes, count); });
    awaiting.add_limit("sockets: as much there, 8 B back",
                       [=, this](std::uint64_t count) { plain_trips(bytes, count, Wait::sleeping); });
    co_await awaiting.run();
    Comparison streaming(bench_, pair_.title(fmt::format("{} by size, many under way", verb())), bytes);
    streaming.add(fmt::format("{} at once, {}", verb(), size_text(bytes)),
                  [=, this](std::uint64_t count) { return at_once(bytes, count); });
    streaming.add_limit("sockets: a stream, a write each (1 MiB at most)",
                        [=, this](std::uint64_t count) { plain_stream(bytes, count, Wait::sleeping); });
    streaming.add_limit("sockets: such a stream, spinning",
                        [=, this](std::uint64_t count) { plain_stream(bytes, count, Wait::spinning); });
    co_await streaming.run();
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

template <Direction direction>
Task<> inside_node(Bench& bench) {
  TransferSweep sweep(bench, direction);
  co_await sweep.run();
}

template <Direction direction>
Task<> between_nodes(Bench& bench) {
  NodeSweep sweep(bench, direction);
  co_await sweep.run();
}

constexpr std::uint64_t kTransferSegment = 256 << 20;

}  // namespace

std::unique_ptr<Benchmark> put_benchmark() {
  return benchmark_of({.name = "put",
                       .help = "puts from 8 B to 64 MiB beside memcpy",
                       .ranks_min = 2,
                       .segment_bytes = kTransferSegment},
                      inside_node<Direction::put>, between_nodes<Direction::put>);
}

std::unique_ptr<Benchmark> get_benchmark() {
  return benchmark_of({.name = "get",
                       .help = "gets from 8 B to 64 MiB beside memcpy",
                       .ranks_min = 2,
                       .segment_bytes = kTransferSegment},
                      inside_node<Direction::get>, between_nodes<Direction::get>);
}

}  // namespace coracle::internals::bench
