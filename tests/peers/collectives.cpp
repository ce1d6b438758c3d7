// A collective of ours in a loop, without a barrier in between: the twin of collectives.c, line by line. Prints
// "collective ranks bytes nanoseconds" per size: the median of batches, each as long as its slowest rank takes. For
// tests/peers/compare-collectives.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using coracle::internals::Rank;
using coracle::internals::Task;

constexpr std::size_t kBatchesMax = 15;
constexpr std::size_t kPage = 4096;
constexpr double kBatchNs = 5e6;   // a batch takes at least so long, or is a single operation
constexpr double kFigureNs = 1e8;  // no more batches once a figure has taken so long
constexpr double kWarmUpNs = 2e6;
constexpr double kSettleNs = 2e8;

/// What `from` sends to `to` as word `word` of operation `number`.
std::uint64_t word_of(std::uint64_t from, std::uint64_t to, std::uint64_t word, std::uint64_t number) {
  return number * 1000003 + word * 8191 + from * 131 + to;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::uint64_t, Free>;

Memory zeroed(std::uint64_t bytes) {
  Memory memory(static_cast<std::uint64_t*>(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage)));
  if (!memory) std::abort();
  std::memset(memory.get(), 0, bytes);
  return memory;
}

double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// One size of one collective.
class Loop {
 public:
  using Many = Task<> (Loop::*)(std::uint64_t count, std::uint64_t stride);

  Loop(Rank& self, coracle::internals::Team& back, std::uint64_t bytes, std::uint64_t blocks)
      : self_(self),
        bytes_(bytes),
        source_(zeroed((bytes + 8) * blocks)),
        data_(zeroed((bytes + 8) * blocks)),
        back_(back) {}

  // Each operation changes and checks every `stride`-th word: all of them before anything is timed, the first and the
  // last one of the data (of each block, of collectives that have blocks) in timed batches.

  Task<> broadcasts(std::uint64_t count, std::uint64_t stride) {
    for (std::uint64_t number = 0; number < count; ++number) {
      if (self_.id() == 0)
        for (std::uint64_t i = 0; i < words(); i += stride) data()[i] = word_of(0, 0, i, number);
      co_await self_.world().broadcast(std::span(data(), words()), 0);
      bool right = true;
      for (std::uint64_t i = 0; i < words(); i += stride) right &= data()[i] == word_of(0, 0, i, number);
      expect(right, "broadcast", number);
    }
  }

  Task<> all_reduces(std::uint64_t count, std::uint64_t stride) {
    double* values = reinterpret_cast<double*>(data());
    const double ranks = self_.size();
    for (std::uint64_t number = 0; number < count; ++number) {
      const auto step = static_cast<double>(number % 1024);
      for (std::uint64_t i = 0; i < words(); i += stride) values[i] = step + self_.id() + static_cast<double>(i);
      co_await self_.world().all_reduce(std::span(values, words()), std::plus<>());
      bool right = true;
      for (std::uint64_t i = 0; i < words(); i += stride)
        right &= values[i] == ranks * (step + static_cast<double>(i)) + ranks * (ranks - 1) / 2;
      expect(right, "all_reduce", number);
    }
  }

  // Where some wait for nobody, and would be a whole batch ahead, the way goes there and back: in every second
  // operation from the last rank to the first.

  Task<> reduces(std::uint64_t count, std::uint64_t stride) {
    double* values = reinterpret_cast<double*>(data());
    for (std::uint64_t number = 0; number < count; ++number) {
      const double step = fill(values, self_.id(), number, stride);
      const std::uint32_t root = number % 2 == 0 ? 0 : self_.size() - 1;
      co_await self_.world().reduce(std::span(values, words()), std::plus<>(), root);
      if (self_.id() == root) expect_sum(values, step, self_.size(), stride, "reduce", number);
    }
  }

  /// The data is divided among the ranks as evenly as can be.
  Task<> reduce_scatters(std::uint64_t count, std::uint64_t stride) {
    double* values = reinterpret_cast<double*>(source_.get());
    double* mine = reinterpret_cast<double*>(data());
    const double ranks = self_.size();
    std::vector<std::size_t> counts(self_.size());
    std::vector<std::size_t> begins(self_.size() + 1);
    for (std::uint32_t to = 0; to < self_.size(); ++to) {
      counts[to] = words() / self_.size() + (to < words() % self_.size() ? 1 : 0);
      begins[to + 1] = begins[to] + counts[to];
    }
    const auto stride_of = [&](std::uint32_t to) { return stride == 1 || counts[to] < 2 ? 1 : counts[to] - 1; };
    const std::size_t first = begins[self_.id()];
    for (std::uint64_t number = 0; number < count; ++number) {
      const auto step = static_cast<double>(number % 1024);
      for (std::uint32_t to = 0; to < self_.size(); ++to)
        for (std::size_t i = begins[to]; i < begins[to + 1]; i += stride_of(to))
          values[i] = step + self_.id() + static_cast<double>(i);
      co_await self_.world().reduce_scatter_v(std::span<const double>(values, words()), counts,
                                              std::span(mine, counts[self_.id()]), std::plus<>());
      bool right = true;
      for (std::size_t i = 0; i < counts[self_.id()]; i += stride_of(self_.id()))
        right &= mine[i] == ranks * (step + static_cast<double>(first + i)) + ranks * (ranks - 1) / 2;
      expect(right, "reduce_scatter", number);
    }
  }

  Task<> scans(std::uint64_t count, std::uint64_t stride) {
    double* values = reinterpret_cast<double*>(data());
    for (std::uint64_t number = 0; number < count; ++number) {
      coracle::internals::Team& team = number % 2 == 0 ? self_.world() : back_;
      const double step = fill(values, team.index(), number, stride);
      co_await team.scan(std::span(values, words()), std::plus<>());
      expect_sum(values, step, team.index() + 1, stride, "scan", number);
    }
  }

  Task<> exclusive_scans(std::uint64_t count, std::uint64_t stride) {
    double* values = reinterpret_cast<double*>(data());
    for (std::uint64_t number = 0; number < count; ++number) {
      coracle::internals::Team& team = number % 2 == 0 ? self_.world() : back_;
      const double step = fill(values, team.index(), number, stride);
      co_await team.exclusive_scan(std::span(values, words()), std::plus<>(), 0.0);
      expect_sum(values, step, team.index(), stride, "exclusive_scan", number);
    }
  }

  Task<> all_to_alls(std::uint64_t count, std::uint64_t stride) {
    const std::uint32_t ranks = self_.size();
    std::uint64_t* source = source_.get();
    for (std::uint64_t number = 0; number < count; ++number) {
      for (std::uint32_t peer = 0; peer < ranks; ++peer)
        for (std::uint64_t i = 0; i < words(); i += stride)
          source[peer * words() + i] = word_of(self_.id(), peer, i, number);
      co_await self_.world().all_to_all(std::span<const std::uint64_t>(source, ranks * words()),
                                        std::span(data(), ranks * words()));
      bool right = true;
      for (std::uint32_t peer = 0; peer < ranks; ++peer)
        for (std::uint64_t i = 0; i < words(); i += stride)
          right &= data()[peer * words() + i] == word_of(peer, self_.id(), i, number);
      expect(right, "all_to_all", number);
    }
  }

  Task<> all_gathers(std::uint64_t count, std::uint64_t stride) {
    const std::uint32_t ranks = self_.size();
    std::uint64_t* source = source_.get();
    for (std::uint64_t number = 0; number < count; ++number) {
      for (std::uint64_t i = 0; i < words(); i += stride) source[i] = word_of(self_.id(), 0, i, number);
      co_await self_.world().gather_all(std::span<const std::uint64_t>(source, words()),
                                        std::span(data(), ranks * words()));
      bool right = true;
      for (std::uint32_t peer = 0; peer < ranks; ++peer)
        for (std::uint64_t i = 0; i < words(); i += stride)
          right &= data()[peer * words() + i] == word_of(peer, 0, i, number);
      expect(right, "all_gather", number);
    }
  }

  Task<> gathers(std::uint64_t count, std::uint64_t stride) {
    const std::uint32_t ranks = self_.size();
    std::uint64_t* source = source_.get();
    for (std::uint64_t number = 0; number < count; ++number) {
      const std::uint32_t root = number % 2 == 0 ? 0 : ranks - 1;
      for (std::uint64_t i = 0; i < words(); i += stride) source[i] = word_of(self_.id(), root, i, number);
      co_await self_.world().gather(std::span<const std::uint64_t>(source, words()), std::span(data(), ranks * words()),
                                    root);
      bool right = true;
      for (std::uint32_t peer = 0; self_.id() == root && peer < ranks; ++peer)
        for (std::uint64_t i = 0; i < words(); i += stride)
          right &= data()[peer * words() + i] == word_of(peer, root, i, number);
      expect(right, "gather", number);
    }
  }

  Task<> scatters(std::uint64_t count, std::uint64_t stride) {
    const std::uint32_t ranks = self_.size();
    std::uint64_t* source = source_.get();
    for (std::uint64_t number = 0; number < count; ++number) {
      const std::uint32_t root = number % 2 == 0 ? 0 : ranks - 1;
      for (std::uint32_t peer = 0; self_.id() == root && peer < ranks; ++peer)
        for (std::uint64_t i = 0; i < words(); i += stride) source[peer * words() + i] = word_of(root, peer, i, number);
      co_await self_.world().scatter(std::span<const std::uint64_t>(source, ranks * words()),
                                     std::span(data(), words()), root);
      bool right = true;
      for (std::uint64_t i = 0; i < words(); i += stride) right &= data()[i] == word_of(root, self_.id(), i, number);
      expect(right, "scatter", number);
    }
  }

  Task<> barriers(std::uint64_t count, std::uint64_t) {
    for (; count != 0; --count) co_await self_.world().barrier();
  }

  Task<> measure(const char* name, Many many) {
    co_await (this->*many)(2, 1);
    std::uint64_t count = 1;
    double taken = co_await batch_ns(many, count);
    for (double spent = taken; taken < kBatchNs || spent < kWarmUpNs; spent += taken) {
      const double factor = std::clamp(1.2 * kBatchNs / std::max(taken, 1.0), 1.0, 8.0);
      count = static_cast<std::uint64_t>(static_cast<double>(count) * factor) + 1;
      taken = co_await batch_ns(many, count);
    }
    std::vector<double> samples;
    for (double spent = 0; samples.size() < kBatchesMax && (samples.empty() || spent < kFigureNs);) {
      taken = co_await batch_ns(many, count);
      spent += taken;
      samples.push_back(taken / static_cast<double>(count));
    }
    std::sort(samples.begin(), samples.end());
    if (self_.id() == 0) fmt::print("{} {} {} {:.1f}\n", name, self_.size(), bytes_, samples[samples.size() / 2]);
    std::fflush(stdout);
  }

 private:
  std::uint64_t* data() const noexcept { return data_.get(); }
  std::uint64_t words() const noexcept { return bytes_ / 8; }

  void expect(bool right, const char* collective, std::uint64_t number) const {
    if (right) return;
    fmt::print(stderr, "collectives: rank {}: {} of {} bytes, operation {}: wrong result\n", self_.id(), collective,
               bytes_, number);
    std::abort();
  }

  /// What the member at `place` gives, of an operation's `step`, which it returns.
  double fill(double* values, std::uint32_t place, std::uint64_t number, std::uint64_t stride) const {
    const auto step = static_cast<double>(number % 1024);
    for (std::uint64_t i = 0; i < words(); i += stride) values[i] = step + place + static_cast<double>(i);
    return step;
  }
  /// The sums of the first `ranks` of them.
  void expect_sum(const double* values, double step, double ranks, std::uint64_t stride, const char* collective,
                  std::uint64_t number) const {
    bool right = true;
    for (std::uint64_t i = 0; i < words(); i += stride)
      right &= values[i] == ranks * (step + static_cast<double>(i)) + ranks * (ranks - 1) / 2;
    expect(right, collective, number);
  }

  /// Nanoseconds that `count` operations take on the slowest rank; the same everywhere.
  Task<double> batch_ns(Many many, std::uint64_t count) {
    const std::uint64_t stride = bytes_ > 8 ? bytes_ / 8 - 1 : 1;
    co_await self_.world().barrier();
    const double begin = now_ns();
    co_await (this->*many)(count, stride);
    const double taken = now_ns() - begin;
    co_return co_await self_.world().all_reduce(taken, [](double a, double b) { return std::max(a, b); });
  }

  Rank& self_;
  std::uint64_t bytes_;
  Memory source_;  // of those that have two buffers
  Memory data_;
  coracle::internals::Team& back_;  // the ranks from the last to the first
};

struct Collective {
  const char* name;
  Loop::Many run;
  bool blocks;  // its buffers hold a block per rank
};

constexpr Collective kCollectives[] = {{"broadcast", &Loop::broadcasts, false},
                                       {"all_reduce", &Loop::all_reduces, false},
                                       {"reduce", &Loop::reduces, false},
                                       {"reduce_scatter", &Loop::reduce_scatters, false},
                                       {"scan", &Loop::scans, false},
                                       {"exclusive_scan", &Loop::exclusive_scans, false},
                                       {"all_to_all", &Loop::all_to_alls, true},
                                       {"all_gather", &Loop::all_gathers, true},
                                       {"gather", &Loop::gathers, true},
                                       {"scatter", &Loop::scatters, true},
                                       {"barrier", &Loop::barriers, false}};

/// Null when there is none of that name.
const Collective* find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                   [name](const Collective& each) { return each.name == name; });
  return found == std::end(kCollectives) ? nullptr : found;
}

/// The kernel needs some time until it has spread ranks that outnumber the cores. Rank 0 keeps it.
Task<> settle(Rank& self) {
  const double begin = now_ns();
  for (std::uint64_t go_on = 1; go_on != 0;) {
    for (int i = 0; i < 10; ++i) co_await self.world().barrier();
    go_on = now_ns() - begin < kSettleNs ? 1 : 0;
    co_await self.world().broadcast(std::span(&go_on, 1), 0);
  }
}

Task<> measure_all(Rank& self, const Collective& collective, std::vector<std::uint64_t> sizes) {
  co_await settle(self);
  const auto back = co_await self.world().split(0, self.size() - self.id());
  for (const std::uint64_t bytes : sizes) {
    Loop loop(self, *back, bytes, collective.blocks ? self.size() : 1);
    co_await loop.measure(collective.name, collective.run);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Collective* collective = argc > 2 ? find(argv[1]) : nullptr;
  if (collective == nullptr) {
    fmt::print(stderr, "usage: peers-collectives COLLECTIVE BYTES...; it knows:\n");
    for (const Collective& each : kCollectives) fmt::print(stderr, "  {}\n", each.name);
    return 2;
  }
  std::vector<std::uint64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  return coracle::run(argc, argv, [=](Rank& self) { return measure_all(self, *collective, sizes); });
}
