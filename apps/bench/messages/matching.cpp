// `coracle bench matching`: what a message takes while thousands of other receives wait, or of other messages lie
// there.
#include <fmt/format.h>

#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/messages/messages.hpp"
#include "collectives/collectives.hpp"
#include "runtime/messages/send_recv.hpp"

namespace coracle::internals::bench {
namespace {

constexpr std::uint64_t kPingTag = 1ULL << 40;

/// What fills the queues of both ranks while they ping.
enum class Crowd { receives, open_receives, messages };

const char* name_of(Crowd crowd) noexcept {
  switch (crowd) {
    case Crowd::receives:
      return "other receives posted";
    case Crowd::open_receives:
      return "other receives of any source posted";
    case Crowd::messages:
      return "other messages not received";
  }
  return "";
}

/// Round trips of 8 bytes.
Task<> round_trips(Rank& self, bool any_source, std::uint64_t count) {
  if (self.id() > kPartner) co_return;
  Team& team = self.world();
  const std::uint32_t peer = kPartner - self.id();
  const std::uint32_t from = any_source ? kAnySource : peer;
  std::uint64_t word = 0;
  const std::span<std::uint64_t> data(&word, 1);
  for (; count != 0; --count) {
    if (self.id() == 0) co_await team.send(data, peer, kPingTag);
    co_await team.recv(data, from, kPingTag);
    if (self.id() != 0) co_await team.send(data, peer, kPingTag);
  }
}

/// A crowd of `size`, which matches nothing of the round trips, and in the end itself.
class Queue {
 public:
  Queue(Rank& self, Crowd crowd, std::uint64_t size)
      : self_(self), team_(self.world()), crowd_(crowd), size_(size), words_(size), peer_(self.id() ^ 1) {}

  Task<> fill() {
    if (self_.id() <= kPartner) {
      if (crowd_ == Crowd::messages)
        co_await send_all();
      else
        post_all();
    }
    co_await team_.barrier();
  }
  /// The latest first, so that none is found by luck.
  Task<> empty() {
    if (self_.id() <= kPartner) {
      if (crowd_ != Crowd::messages) co_await send_all();
      for (std::uint64_t tag = size_; tag-- > 0;) {
        if (crowd_ == Crowd::messages)
          co_await team_.recv(word(tag), peer_, tag);
        else
          co_await receives_[tag].done();
      }
    }
    co_await team_.barrier();
  }

 private:
  std::span<std::uint64_t> word(std::uint64_t tag) noexcept { return {&words_[tag], 1}; }
  void post_all() {
    receives_.reserve(size_);
    for (std::uint64_t tag = 0; tag < size_; ++tag)
      receives_.push_back(
          start(self_, team_.recv(word(tag), crowd_ == Crowd::open_receives ? kAnySource : peer_, tag)));
  }
  Task<> send_all() {
    for (std::uint64_t tag = 0; tag < size_; ++tag) co_await team_.send_value(tag, peer_, tag);
  }

  Rank& self_;
  Team& team_;
  Crowd crowd_;
  std::uint64_t size_;
  std::vector<std::uint64_t> words_;
  std::uint32_t peer_;
  std::vector<Started<Received>> receives_;
};

Task<> bench_crowd(Bench& bench, const RawMessages& plain, Crowd crowd, std::uint64_t size) {
  Queue queue(bench.self, crowd, size);
  co_await queue.fill();
  Comparison comparison(
      bench,
      fmt::format("8 bytes, half a round trip, {}, placement {}", name_of(crowd), to_string(bench.self.placement())), 8,
      0.5);
  comparison.add(fmt::format("{}, of one source", size),
                 [&](std::uint64_t count) { return round_trips(bench.self, false, count); });
  comparison.add(fmt::format("{}, of any source", size),
                 [&](std::uint64_t count) { return round_trips(bench.self, true, count); });
  comparison.add_limit("hand-over of a cache line", [&](std::uint64_t count) { plain.ping_pong(0, count); });
  co_await comparison.run();
  co_await queue.empty();
}

Task<> bench_matching(Bench& bench) {
  Messages buffers(bench.self, kPartner);
  co_await buffers.meet();
  RawMessages plain(bench.self, buffers, kPartner);
  co_await plain.meet();
  constexpr std::uint64_t kQueueLengths[] = {0, 10, 100, 1000, 5000};
  for (const Crowd crowd : {Crowd::receives, Crowd::open_receives, Crowd::messages}) {
    for (const std::uint64_t size : kQueueLengths)
      if (!bench.plan.quick || size <= 100) co_await bench_crowd(bench, plain, crowd, size);
  }
}

}  // namespace

std::unique_ptr<Benchmark> matching_benchmark() {
  return benchmark_of({.name = "matching", .help = "tagged messages among thousands that wait", .ranks_min = 2},
                      bench_matching);
}

}  // namespace coracle::internals::bench
