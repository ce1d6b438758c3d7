// Puts, gets, signals, atomics and memory outside segments.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/verbs/checks.hpp"

namespace coracle::internals::verbs_checks {
namespace {

using conformance::pattern;

void fill(std::span<std::byte> bytes, std::uint64_t writer, std::uint64_t round) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(writer, i, round);
}
bool holds(std::span<const std::byte> bytes, std::uint64_t writer, std::uint64_t round) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == pattern(writer, i, round)) continue;
    std::size_t last = i;
    for (std::size_t k = i; k < bytes.size(); ++k)
      if (bytes[k] != pattern(writer, k, round)) last = k;
    std::fprintf(stderr, "bytes %zu to %zu of %zu are wrong; the first is %u and should be %u\n", i, last, bytes.size(),
                 static_cast<unsigned>(bytes[i]), static_cast<unsigned>(pattern(writer, i, round)));
    return false;
  }
  return true;
}

// Around the inline limit, the size of slots, the packet's size and the largest part.
constexpr std::size_t kSizes[] = {0, 1, 8, 219, 220, 221, 4096, 8247, 8248, 8249, 70'000, 9'000'001};
constexpr std::size_t kBytesMax = 9'000'002;

Task<> put_and_get(Pair pair, std::span<std::byte> buffer, Slab<std::byte>& slab, RemoteAddress there) {
  Rank& self = pair.self;
  std::uint64_t round = 0;
  for (const std::size_t bytes : kSizes) {
    ++round;
    slab[bytes] = std::byte{0xee};
    co_await self.world().barrier();
    fill(buffer.first(bytes), self.id(), round);
    std::error_code code = co_await pair.put(buffer.first(bytes), there);
    CHECK_HERE(!code);
    co_await self.world().barrier();
    CHECK_HERE(holds(slab.local().first(bytes), pair.peer, round));
    CHECK_HERE(slab[bytes] == std::byte{0xee});
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    code = co_await pair.get(there, buffer.first(bytes));
    CHECK_HERE(!code);
    CHECK_HERE(holds(buffer.first(bytes), self.id(), round));
    co_await self.world().barrier();
  }
}

Task<> put_one(Pair pair, std::span<const std::byte> source, RemoteAddress target, bool& good) {
  const std::error_code code = co_await pair.put(source, target);
  if (code) good = false;
}

}  // namespace

Task<> transfers(Pair pair) {
  Rank& self = pair.self;
  auto slab = self.allocate<std::byte>(kBytesMax);
  const auto places = co_await self.world().gather_all(slab.remote());
  const RemoteAddress there = places[pair.peer].address();
  std::vector<std::byte> heap(kBytesMax);
  co_await put_and_get(pair, heap, slab, there);
  auto local = self.allocate<std::byte>(kBytesMax);  // a local side in the segment needs no registration
  co_await put_and_get(pair, local.local(), slab, there);

  // More at once than a queue pair takes.
  constexpr std::size_t kMany = 1000, kEach = 300;
  fill(std::span(heap).first(kMany * kEach), self.id(), 99);
  bool good = true;
  std::vector<Task<>> many;
  for (std::size_t i = 0; i < kMany; ++i) {
    RemoteAddress place = there;
    place.offset += i * kEach;
    many.push_back(put_one(pair, std::span(heap).subspan(i * kEach, kEach), place, good));
  }
  co_await when_all(std::move(many));
  CHECK_HERE(good);
  co_await self.world().barrier();
  CHECK_HERE(holds(slab.local().first(kMany * kEach), pair.peer, 99));

  const std::byte byte{1};
  RemoteAddress beyond = there;
  beyond.offset = ~std::uint64_t{0} - 3;
  std::error_code code = co_await pair.put(std::span(&byte, 1), beyond);
  CHECK_HERE(code == Errc::out_of_segment);
  beyond.rank = 7;
  code = co_await pair.put(std::span(&byte, 1), beyond);
  CHECK_HERE(code == Errc::no_such_peer);
  CHECK_HERE(pair.transport.in_flight() == 0);
  co_await self.world().barrier();
}

Task<> signals(Pair pair) {
  Rank& self = pair.self;
  auto data = self.allocate<std::uint64_t>(5000);
  auto signal = self.allocate_signals(2);
  const auto data_places = co_await self.world().gather_all(data.remote());
  const auto signal_places = co_await self.world().gather_all(signal.remote());
  const RemoteAddress there = data_places[pair.peer].address();
  const RemoteAddress raised = signal_places[pair.peer].address();
  const RemoteAddress answered = (signal_places[pair.peer] + 1).address();
  std::vector<std::uint64_t> values(5000);
  std::uint64_t expected = 0;
  for (std::uint64_t round = 1; round <= 100; ++round) {
    const std::size_t count = round % 10 == 0 ? values.size() : 1;
    std::fill_n(values.begin(), count, round * 100 + self.id());
    const std::uint64_t add = round % 3 == 0 ? 5 : 1;  // what does not fit the immediate value goes by message
    std::error_code code = co_await pair.put_signal(std::as_bytes(std::span(values).first(count)), there, raised, add);
    CHECK_HERE(!code);
    expected += add;
    co_await self.wait(signal[0], expected);
    for (std::size_t i = 0; i < count; ++i) CHECK_HERE(data[i] == round * 100 + pair.peer);
    code = co_await pair.put_signal({}, answered, answered);
    CHECK_HERE(!code);
    co_await self.wait(signal[1], round);
  }
  RemoteAddress beyond = raised;
  beyond.offset = ~std::uint64_t{63};
  const std::error_code code = co_await pair.put_signal({}, there, beyond);
  CHECK_HERE(code == Errc::out_of_segment);
  CHECK_HERE(signal[0].value() == expected);
}

Task<> atomics(Pair pair) {
  Rank& self = pair.self;
  auto counters = self.allocate<std::uint64_t>(2);
  auto words = self.allocate<std::int32_t>(2);
  const auto counter_places = co_await self.world().gather_all(counters.remote());
  const auto word_places = co_await self.world().gather_all(words.remote());
  constexpr std::uint64_t kRounds = 200;
  // Both add to the counter of rank 0: one through the device or by message, the other by its processor.
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    if (self.id() == 0) {
      co_await self.fetch_add(counter_places[0], 3);
    } else {
      const RemoteAddress place = counter_places[0].address();
      std::error_code code = co_await pair.atomic(Operation::Verb::fetch_add, place, 8, 3);
      CHECK_HERE(!code);
      code = co_await pair.atomic(Operation::Verb::fetch_add, word_places[0].address(), 4, ~std::uint64_t{0});
      CHECK_HERE(!code);
      auto swap = pair.atomic(Operation::Verb::compare_swap, (counter_places[0] + 1).address(), 8, i + 1, i);
      code = co_await swap;
      CHECK_HERE(!code && swap.result == i);
    }
  }
  co_await self.world().barrier();
  if (self.id() == 0) {
    CHECK_HERE(counters[0] == 2 * 3 * kRounds);
    CHECK_HERE(counters[1] == kRounds);
    CHECK_HERE(words[0] == -static_cast<std::int32_t>(kRounds));
  }
  RemoteAddress askew = counter_places[pair.peer].address();
  askew.offset += 4;
  std::error_code code = co_await pair.atomic(Operation::Verb::fetch_add, askew, 8, 1);
  CHECK_HERE(code == Errc::misaligned);
  askew.segment = 77;
  code = co_await pair.atomic(Operation::Verb::fetch_add, askew, 8, 1);
  CHECK_HERE(code == Errc::out_of_segment);
  co_await self.world().barrier();
}

/// By the device itself, on a place that no processor touches meanwhile: soft-RoCE does not promise more.
Task<> device_atomics(Pair pair) {
  Rank& self = pair.self;
  auto counters = self.allocate<std::uint64_t>(2);
  const auto places = co_await self.world().gather_all(counters.remote());
  const RemoteAddress there = places[pair.peer].address();
  const RemoteAddress next = (places[pair.peer] + 1).address();
  std::error_code code = co_await pair.put({}, there);
  CHECK_HERE(!code);
  std::uint64_t met = 0;
  code = co_await pair.get(there, std::as_writable_bytes(std::span(&met, 1)));  // the first use makes the connection
  CHECK_HERE(!code);
  pair.transport.connections().peer_of(pair.peer).address.device_atomics = 1;
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto add = pair.atomic(Operation::Verb::fetch_add, there, 8, 5);
    code = co_await add;
    CHECK_HERE(!code && add.result == 5 * i);
    auto swap = pair.atomic(Operation::Verb::compare_swap, next, 8, i + 1, i);
    code = co_await swap;
    CHECK_HERE(!code && swap.result == i);
    auto vain = pair.atomic(Operation::Verb::compare_swap, next, 8, 999, 998);
    code = co_await vain;
    CHECK_HERE(!code && vain.result == i + 1);
  }
  co_await self.world().barrier();
  CHECK_HERE(counters[0] == 500);
  CHECK_HERE(counters[1] == 100);
}

/// Exposed memory, and the cache of registrations.
Task<> memory(Pair pair) {
  Rank& self = pair.self;
  std::vector<std::byte> outside(200'000), copy(200'000);
  fill(outside, self.id(), 1);
  const Exposed<std::byte> exposed = self.expose(std::span(outside));
  const auto places = co_await self.world().gather_all(exposed.remote());
  const RemoteAddress there = places[pair.peer].address();
  for (int i = 0; i < 5; ++i) {
    const std::error_code code = co_await pair.get(there, copy);
    CHECK_HERE(!code && holds(copy, pair.peer, 1));
  }
  RemoteAddress middle = there;
  middle.offset = 5000;
  std::error_code code = co_await pair.put(std::span(copy).first(100), middle);
  CHECK_HERE(!code);
  co_await self.world().barrier();
  // What the peer put there it had got from here: this rank's pattern, from its beginning.
  CHECK_HERE(holds(std::span(outside).first(5000), self.id(), 1));
  CHECK_HERE(holds(std::span(outside).subspan(5000, 100), self.id(), 1));
  RemoteAddress beyond = there;
  beyond.offset = outside.size() - 3;
  code = co_await pair.get(beyond, std::span(copy).first(4));
  CHECK_HERE(code == Errc::out_of_segment);
  beyond.segment = 77;
  code = co_await pair.get(beyond, std::span(copy).first(4));
  CHECK_HERE(code == Errc::out_of_segment);

  // The same buffer again and again is registered once; what is unmapped and mapped anew in its place is not taken for
  // it.
  auto slab = self.allocate<std::byte>(1 << 20);
  const auto slabs = co_await self.world().gather_all(slab.remote());
  const std::uint64_t before = pair.transport.endpoint().registrations().registered_count();
  for (std::uint64_t round = 0; round < 20; ++round) {
    fill(outside, self.id(), round);
    code = co_await pair.put(outside, slabs[pair.peer].address());
    CHECK_HERE(!code);
    co_await self.world().barrier();
    CHECK_HERE(holds(slab.local().first(outside.size()), pair.peer, round));
    co_await self.world().barrier();
  }
  const std::uint64_t made = pair.transport.endpoint().registrations().registered_count() - before;
  CHECK_HERE(!pair.transport.endpoint().registrations().keeps() || made <= 1);
  void* address = nullptr;
  for (std::uint64_t round = 0; round < 20; ++round) {
    constexpr std::size_t kBytes = 1 << 20;
    void* pages = ::mmap(address, kBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | (address != nullptr ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    CHECK_HERE(pages != MAP_FAILED);
    address = pages;
    const std::span<std::byte> fresh(static_cast<std::byte*>(pages), kBytes);
    fill(fresh, self.id(), 1000 + round);
    code = co_await pair.put(fresh, slabs[pair.peer].address());
    ::munmap(pages, kBytes);
    CHECK_HERE(!code);
    co_await self.world().barrier();
    CHECK_HERE(holds(slab.local(), pair.peer, 1000 + round));
    co_await self.world().barrier();
  }
  if (self.id() == 0)
    std::printf("registrations are %s\n",
                pair.transport.endpoint().registrations().keeps() ? "kept" : "made anew each time");
}

}  // namespace coracle::internals::verbs_checks
