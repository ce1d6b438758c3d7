// `coracle bench vis`: strided puts and gets (vector, indexed, strided) beside a contiguous transfer of as many bytes,
// and beside the loop of small transfers that they stand for.
#include <fmt/format.h>

#include <cstring>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

/// Blocks of a tile; they lie 4 blocks apart here and 2 blocks apart at the peer.
constexpr std::size_t kBlocks = 64;
constexpr std::size_t kBlockBytesMax = 32 << 10;
constexpr std::size_t kBytesMax = 4 * kBlocks * kBlockBytesMax;

/// Rank 0 transfers; its partner, of another node if there is one, serves, and the others rest.
class Tiles {
 public:
  Tiles(Bench& bench, bool puts)
      : bench_(bench),
        self_(bench.self),
        puts_(puts),
        here_(self_.allocate<std::byte>(kBytesMax)),
        there_(self_.allocate<std::byte>(kBytesMax)) {
    std::memset(here_.data(), 1, kBytesMax);
    std::memset(there_.data(), 2, kBytesMax);
  }

  Task<> run() {
    const auto places = co_await self_.world().gather_all(there_.remote());
    partner_ = self_.nodes() > 1 ? self_.core().region().first_rank_of(1) : 1;
    theirs_ = places[partner_];
    for (std::size_t block = 8; block <= kBlockBytesMax; block *= 8) co_await one_tile(block);
  }

 private:
  const char* verb() const noexcept { return puts_ ? "put" : "get"; }
  bool active() const noexcept { return self_.id() == 0; }
  std::string title() const {
    return fmt::format("{} of {} blocks by {}, placement {}", verb(), kBlocks,
                       self_.core().transport_to(partner_).name(), to_string(self_.placement()));
  }

  Task<> one_by_one(std::size_t block, std::uint64_t count) {
    for (; count != 0; --count) {
      for (std::size_t i = 0; i < kBlocks; ++i) {
        const auto mine = here_.local().subspan(4 * i * block, block);
        const auto theirs = theirs_ + static_cast<std::ptrdiff_t>(2 * i * block);
        if (puts_)
          self_.put_nbi(mine, theirs);
        else
          self_.get_nbi(theirs, mine);
      }
      co_await self_.nbi_done();
    }
  }
  Task<> one_tile(std::size_t block) {
    const auto near = static_cast<std::ptrdiff_t>(2 * block);
    const Layout bytes = Layout::bytes(static_cast<std::int64_t>(block));
    const Layout mine = bytes.vector(kBlocks, 1, 4);
    const Layout theirs = bytes.vector(kBlocks, 1, 2);
    const std::span<std::byte> all = here_.local().first(kBlocks * block);
    Contest contest(self_, bench_.plan);
    const auto add = [&](auto put, auto get) {
      return contest.add(puts_ ? repeated(put, active()) : repeated(get, active()));
    };
    const std::size_t shaped = add(
        [&] {
          return self_.put_strided(here_.data(), theirs_, {kBlocks, block, 2 * near, near});
        },
        [&] {
          return self_.get_strided(theirs_, here_.data(), {kBlocks, block, near, 2 * near});
        });
    const std::size_t described = add(
        [&] {
          return self_.put({here_.data(), mine}, theirs_, theirs);
        },
        [&] {
          return self_.get(theirs_, theirs, 1, {here_.data(), mine});
        });
    const std::size_t loop =
        contest.add([=, this](std::uint64_t count) { return active() ? one_by_one(block, count) : rest(); });
    const std::size_t whole = add([&] { return self_.put(std::span<const std::byte>(all), theirs_); },
                                  [&] { return self_.get(theirs_, all); });
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    const std::string name = fmt::format("{} x {}", kBlocks, size_text(block));
    const auto row = [&](const char* what, std::size_t ours, const char* limit_name, std::size_t limit) {
      bench_.report.add(title(),
                        contest.row(fmt::format("{}, {}", name, what), ours, limit_name, limit, kBlocks * block));
    };
    row("strided", shaped, "one contiguous transfer of as many bytes", whole);
    row("by layouts made before", described, "one contiguous transfer of as many bytes", whole);
    row("strided, beside a loop", shaped, "a transfer for each block, all at once", loop);
  }

  Bench& bench_;
  Rank& self_;
  bool puts_;
  Slab<std::byte> here_;
  Slab<std::byte> there_;
  Remote<std::byte> theirs_;
  std::uint32_t partner_ = 0;
};

Task<> bench_vis(Bench& bench) {
  for (const bool puts : {true, false}) {
    Tiles tiles(bench, puts);
    co_await tiles.run();
    co_await bench.self.world().barrier();
  }
}

}  // namespace

std::unique_ptr<Benchmark> vis_benchmark() {
  return benchmark_of({.name = "vis", .help = "strided puts and gets beside contiguous ones", .ranks_min = 2},
                      bench_vis, bench_vis);
}

}  // namespace coracle::internals::bench
