// `coracle bench put` and `get`: one-sided transfers to the neighbour beside memcpy between buffers of the same kind.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "apps/coracle/bench/batches.hpp"
#include "apps/coracle/bench/benchmarks.hpp"
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

class Sweep {
 public:
  Sweep(Bench& bench, Direction direction)
      : bench_(bench), self_(bench.self), direction_(direction), mine_(bench.self) {}

  Task<> run() {
    peers_ = co_await self_.world().gather_all(mine_.shared.remote());
    peer_ = (self_.id() + 1) % self_.size();
    co_await single_values();
    for (std::size_t bytes = 8; bytes <= kLargest; bytes *= bytes < 4096 ? 8 : 4) co_await one_size(bytes);
    for (const std::size_t bytes : {std::size_t{1} << 20, kLargest}) co_await all_at_once(bytes);
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
  void copy(std::size_t bytes, std::uint64_t count) { copies(mine_.own.data(), mine_.data.data(), bytes, count); }

  Task<> single_values() {
    Contest contest(self_, bench_.plan);
    const auto ours = contest.add([this](std::uint64_t count) { return active() ? value_transfers(count) : rest(); });
    const auto limit = contest.add_plain([this](std::uint64_t count) {
      if (active()) copy(sizeof(std::uint64_t), count);
    });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    bench_.report.add(title(), {fmt::format("{}_value, 8 B", verb()), "ns", contest.figure(ours), "memcpy, one core",
                                contest.figure(limit), 8, contest.allocations(ours)});
  }

  Task<> one_size(std::size_t bytes) {
    Contest contest(self_, bench_.plan);
    const auto ours =
        contest.add([=, this](std::uint64_t count) { return active() ? transfers(bytes, count) : rest(); });
    const auto limit = contest.add_plain([=, this](std::uint64_t count) {
      if (active()) copy(bytes, count);
    });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    bench_.report.add(
        title(), {fmt::format("{}, {}", verb(), size_text(static_cast<double>(bytes))), "ns", contest.figure(ours),
                  "memcpy, one core", contest.figure(limit), static_cast<double>(bytes), contest.allocations(ours)});
  }

  Task<> all_at_once(std::size_t bytes) {
    Contest contest(self_, bench_.plan);
    const auto ours = contest.add([=, this](std::uint64_t count) { return transfers(bytes, count); });
    const auto limit = contest.add_plain([=, this](std::uint64_t count) { copy(bytes, count); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    bench_.report.add(
        title(), {fmt::format("{}, {}, all ranks at once, each", verb(), size_text(static_cast<double>(bytes))), "ns",
                  contest.figure(ours), "memcpy, all ranks at once, each", contest.figure(limit),
                  static_cast<double>(bytes), contest.allocations(ours)});
  }

  /// Only one rank moves data; the others are there and wait.
  bool active() const noexcept { return self_.id() == 0; }

  Bench& bench_;
  Rank& self_;
  Direction direction_;
  Buffers mine_;
  std::vector<Remote<std::byte>> peers_;
  std::uint32_t peer_ = 0;
};

}  // namespace

Task<> bench_put(Bench& bench) {
  Sweep sweep(bench, Direction::put);
  co_await sweep.run();
}

Task<> bench_get(Bench& bench) {
  Sweep sweep(bench, Direction::get);
  co_await sweep.run();
}

}  // namespace coracle::internals::bench
