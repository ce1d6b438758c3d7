// `coracle bench pingpong`: tagged messages between ranks 0 and 1 by size, beside a flag and one copy, and
// beside the same messages through shared memory (two copies).
#include <fmt/format.h>

#include "apps/bench/benchmarks.hpp"
#include "apps/bench/messages/raw_messages.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::internals::bench {
namespace {

/// One after the other sends, into a buffer that the receiver has at hand.
Task<> round_trips(Rank& self, const Messages& buffers, std::size_t bytes, RendezvousScheme way, std::uint64_t count) {
  if (self.id() > kPartner) co_return;
  Team& team = self.world();
  internals::Messages::of(team.rank()).fix_scheme(way);
  const std::span<std::byte> out = buffers.out().first(bytes);
  const std::span<std::byte> in = buffers.in().first(bytes);
  const std::uint32_t peer = kPartner - self.id();
  for (; count != 0; --count) {
    if (self.id() == 0) co_await team.send(out, peer);
    co_await team.recv(in, peer, 0);
    if (self.id() != 0) co_await team.send(out, peer);
  }
}

Task<> bench_one_size(Bench& bench, const Messages& buffers, const RawMessages& plain, std::size_t bytes) {
  Contest contest(bench.self, bench.plan);
  const auto by = [&](RendezvousScheme way) {
    return contest.add(
        [&, way, bytes](std::uint64_t count) { return round_trips(bench.self, buffers, bytes, way, count); });
  };
  const auto tagged = by(RendezvousScheme::automatic);
  const auto staged = by(RendezvousScheme::shm);
  const auto raw = contest.add_plain([&, bytes](std::uint64_t count) { plain.ping_pong(bytes, count); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  const std::string title =
      fmt::format("Tagged messages, half a round trip by size, placement {}", to_string(bench.self.placement()));
  Row row = contest.row(size_text(bytes), tagged, "flag and one copy", raw, bytes, 0.5);
  row.others.push_back({"through shared memory", scaled(contest.figure(staged), 0.5)});
  bench.report.add(title, row);
}

Task<> bench_pingpong(Bench& bench) {
  Messages buffers(bench.self, kPartner);
  co_await buffers.meet();
  RawMessages plain(bench.self, buffers, kPartner);
  co_await plain.meet();
  std::vector<std::uint64_t> sizes = bench.choices.sizes;
  if (sizes.empty()) {
    sizes = {8, 64, 512, 1024, 4096, 8192, 16'384, 65'536, 262'144, 1 << 20};
    if (!bench.plan.quick) sizes.insert(sizes.end(), {4 << 20, 16 << 20});
  }
  for (const std::uint64_t bytes : sizes) co_await bench_one_size(bench, buffers, plain, bytes);
}

}  // namespace

std::unique_ptr<Benchmark> pingpong_benchmark() {
  return benchmark_of({.name = "pingpong",
                       .help = "tagged messages from 8 B to 16 MiB beside a flag and one copy",
                       .ranks_min = 2,
                       .segment_bytes = 128 << 20,
                       .reads = {"--sizes"}},
                      bench_pingpong);
}

}  // namespace coracle::internals::bench
