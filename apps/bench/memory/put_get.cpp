// `coracle bench put` and `get`: one-sided transfers to the neighbour beside memcpy between buffers of the same
// kind; and between nodes, latency and bandwidth beside plain sockets.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;

enum class Direction { put, get };

/// Transfers of one direction between this rank and a peer, as batches.
class Transfers {
 public:
  Transfers(Rank& self, Direction direction)
      : self_(self),
        is_put_(direction == Direction::put),
        data_(self.allocate<std::byte>(kLargest)),
        shared_(self.allocate<std::byte>(kLargest)),
        own_(self.allocate<std::byte>(kLargest)) {}
  /// Collective. Of the memory the first `touched` bytes are used.
  Task<> meet(std::uint32_t peer, std::size_t touched) {
    std::memset(data_.data(), 1, touched);
    std::memset(shared_.data(), 2, touched);
    theirs_ = (co_await self_.world().gather_all(shared_.remote()))[peer];
  }

  const char* verb() const noexcept { return is_put_ ? "put" : "get"; }
  bool is_put() const noexcept { return is_put_; }
  /// What is put.
  std::span<std::byte> data(std::size_t bytes) const { return data_.local().first(bytes); }
  /// Where what is got lies then.
  std::span<std::byte> own(std::size_t bytes) const { return own_.local().first(bytes); }

  Contest::Batch values(bool active) const {
    const auto place = theirs_.as<std::uint64_t>();
    if (is_put_) return repeated([=, this] { return self_.put_value(1, place); }, active);
    return repeated([=, this] { return self_.get_value(place); }, active);
  }
  Contest::Batch awaited(std::size_t bytes, bool active) const {
    if (is_put_)
      return repeated([=, this] { return self_.put(std::span<const std::byte>(data(bytes)), theirs_); }, active);
    return repeated([=, this] { return self_.get(theirs_, own(bytes)); }, active);
  }
  Contest::Batch at_once(std::size_t bytes, bool active) const {
    const std::uint64_t window = std::clamp<std::uint64_t>(kLargest / bytes, 2, kWindowMax);
    if (is_put_)
      return repeated_at_once(
          self_, [=, this] { self_.put_nbi(data(bytes), theirs_); }, window, active);
    return repeated_at_once(
        self_, [=, this] { self_.get_nbi(theirs_, own(bytes)); }, window, active);
  }
  Contest::PlainBatch copies(std::size_t bytes, bool active) const {
    return plainly([=, this] { std::memcpy(own_.data(), data_.data(), opaque(bytes)); }, active);
  }

 private:
  static constexpr std::uint64_t kWindowMax = 64;

  Rank& self_;
  bool is_put_;
  Slab<std::byte> data_;
  Slab<std::byte> shared_;
  Slab<std::byte> own_;
  Remote<std::byte> theirs_;
};

std::size_t next_size(std::size_t bytes) noexcept {
  return bytes * (bytes < 4096 ? 8 : 4);
}

/// `what`: of the transfer's name; `all`: all ranks transfer at once; else only rank 0, and the others are there and
/// wait.
Task<> beside_memcpy(Bench& bench, const Transfers& transfers, const char* what, std::size_t bytes, bool all,
                     Contest::Batch ours) {
  Comparison comparison(bench,
                        fmt::format("{} between a rank and its neighbour, placement {}", transfers.verb(),
                                    to_string(bench.self.placement())),
                        bytes);
  const char* const who = all ? ", all ranks at once, each" : "";
  comparison.add(fmt::format("{}{}, {}{}", transfers.verb(), what, size_text(bytes), who), std::move(ours));
  comparison.add_limit(all ? "memcpy, all ranks at once, each" : "memcpy, one core",
                       transfers.copies(bytes, all || bench.self.id() == 0));
  co_await comparison.run();
}

Task<> bench_inside(Bench& bench, Direction direction) {
  Rank& self = bench.self;
  const bool active = self.id() == 0;
  Transfers transfers(self, direction);
  co_await transfers.meet((self.id() + 1) % self.size(), kLargest);
  co_await beside_memcpy(bench, transfers, "_value", 8, false, transfers.values(active));
  for (std::size_t bytes = 8; bytes <= kLargest; bytes = next_size(bytes))
    co_await beside_memcpy(bench, transfers, "", bytes, false, transfers.awaited(bytes, active));
  for (const std::size_t bytes : {std::size_t{1} << 20, kLargest})
    co_await beside_memcpy(bench, transfers, "", bytes, true, transfers.awaited(bytes, true));
}

using Wait = PlainSockets::Wait;

/// Rank 0 puts to its partner, or gets from it, who only serves.
class NodeSweep {
 public:
  NodeSweep(Bench& bench, Direction direction)
      : bench_(bench), pair_(bench.self), transfers_(bench.self, direction), verb_(transfers_.verb()) {}

  Task<> run() {
    const std::size_t largest = bench_.plan.quick ? std::size_t{1} << 20 : kLargest;
    co_await transfers_.meet(pair_.peer(), largest);
    co_await pair_.sockets().meet();
    co_await single_values();
    for (std::size_t bytes = 8; bytes <= largest; bytes = next_size(bytes)) co_await one_size(bytes);
  }

 private:
  /// There and back: `bytes` in the direction of the data, 8 bytes in the other.
  Contest::PlainBatch plain_trips(std::size_t bytes, Wait wait) const {
    const bool puts = transfers_.is_put();
    return pair_.round_trips(transfers_.data(puts ? bytes : 8), transfers_.own(puts ? 8 : bytes), wait);
  }
  Contest::PlainBatch plain_stream(std::size_t bytes, Wait wait) const {
    return pair_.stream(transfers_.data(bytes), transfers_.own(bytes), transfers_.is_put(), wait);
  }

  Task<> single_values() {
    Comparison comparison(bench_, pair_.title(fmt::format("{} of 8 bytes, from its start to its end", verb_)), 8);
    comparison.add(fmt::format("{}_value, 8 B", verb_), transfers_.values(pair_.asks()));
    comparison.add_limit(kSleepingName, plain_trips(8, Wait::sleeping));
    comparison.add_limit(kSpinningName, plain_trips(8, Wait::spinning));
    co_await comparison.run();
  }

  Task<> one_size(std::size_t bytes) {
    const std::string size = size_text(bytes);
    Comparison awaiting(bench_, pair_.title(fmt::format("{} by size, each awaited before the next", verb_)), bytes);
    awaiting.add(fmt::format("{}, {}", verb_, size), transfers_.awaited(bytes, pair_.asks()));
    awaiting.add_limit("sockets: as much there, 8 B back", plain_trips(bytes, Wait::sleeping));
    co_await awaiting.run();
    Comparison streaming(bench_, pair_.title(fmt::format("{} by size, many under way", verb_)), bytes);
    streaming.add(fmt::format("{} at once, {}", verb_, size), transfers_.at_once(bytes, pair_.asks()));
    streaming.add_limit("sockets: a stream, a write each (1 MiB at most)", plain_stream(bytes, Wait::sleeping));
    streaming.add_limit("sockets: such a stream, spinning", plain_stream(bytes, Wait::spinning));
    co_await streaming.run();
  }

  Bench& bench_;
  NodePair pair_;
  Transfers transfers_;
  const char* verb_;
};

Task<> bench_between(Bench& bench, Direction direction) {
  NodeSweep sweep(bench, direction);
  co_await sweep.run();
}

std::unique_ptr<Benchmark> transfer_benchmark(const char* name, const char* help, Task<> (*inside)(Bench& bench),
                                              Task<> (*between)(Bench& bench)) {
  return benchmark_of({.name = name, .help = help, .ranks_min = 2, .segment_bytes = 256 << 20}, inside, between);
}

}  // namespace

std::unique_ptr<Benchmark> put_benchmark() {
  return transfer_benchmark(
      "put", "puts from 8 B to 64 MiB beside memcpy", [](Bench& bench) { return bench_inside(bench, Direction::put); },
      [](Bench& bench) { return bench_between(bench, Direction::put); });
}

std::unique_ptr<Benchmark> get_benchmark() {
  return transfer_benchmark(
      "get", "gets from 8 B to 64 MiB beside memcpy", [](Bench& bench) { return bench_inside(bench, Direction::get); },
      [](Bench& bench) { return bench_between(bench, Direction::get); });
}

}  // namespace coracle::internals::bench
