// One-sided transfers: put, get, handles, signals, atomics, exposed memory, and their errors.
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {

void check(bool condition, Rank& self, const char* what, int line) {
  if (condition) return;
  throw Error(Errc::bad_input,
              "check failed on rank " + std::to_string(self.id()) + ", line " + std::to_string(line) + ": " + what);
}

namespace {

std::uint32_t right_of(Rank& self) {
  return (self.id() + 1) % self.size();
}
std::uint32_t left_of(Rank& self) {
  return (self.id() + self.size() - 1) % self.size();
}

Task<> transfers_of_exposed_memory(Rank& self) {
  std::vector<std::uint64_t> outside(100, self.id());
  const Exposed<std::uint64_t> exposed = self.expose(std::span(outside));
  auto places = co_await self.world().gather_all(exposed.remote());
  std::vector<std::uint64_t> copy(100);
  co_await self.get(places[left_of(self)], copy);
  for (const std::uint64_t value : copy) CHECK_HERE(value == left_of(self));
  co_await self.world().barrier();
  co_await self.put_value(self.id() + 1000, places[right_of(self)] + 50);
  co_await self.world().barrier();
  CHECK_HERE(outside[50] == left_of(self) + 1000);
  CHECK_HERE(outside[49] == self.id());
}

/// More than the table has room for at first; most go and come again meanwhile.
Task<> many_exposed_memories(Rank& self) {
  constexpr std::size_t kCount = 1000;
  std::vector<std::uint64_t> outside(kCount);
  for (std::size_t i = 0; i < kCount; ++i) outside[i] = self.id() * kCount + i;
  std::vector<Exposed<std::uint64_t>> exposed;
  std::vector<Remote<std::uint64_t>> own;
  for (std::size_t i = 0; i < kCount; ++i) {
    exposed.push_back(self.expose(std::span(outside).subspan(i, 1)));
    own.push_back(exposed.back().remote());
  }
  std::vector<Remote<std::uint64_t>> places(kCount * self.size());
  co_await self.world().gather_all(own, std::span(places));
  const std::size_t first = left_of(self) * kCount;
  for (const std::size_t i : {std::size_t{0}, std::size_t{127}, std::size_t{128}, std::size_t{255}, std::size_t{256},
                              std::size_t{511}, std::size_t{512}, kCount - 1}) {
    std::uint64_t value = 0;
    co_await self.get(places[first + i], std::span(&value, 1));
    CHECK_HERE(value == first + i);
  }
  co_await self.world().barrier();
  exposed.clear();
  co_await self.world().barrier();
  const Exposed<std::uint64_t> again = self.expose(std::span(outside));
  co_await self.world().barrier();
  std::uint64_t value = 0;
  const auto result = co_await as_result(self.get(places[first + 300], std::span(&value, 1)));
  CHECK_HERE(!result);
  co_await self.world().barrier();
}

}  // namespace

Task<> transfers(Rank& self) {
  constexpr std::size_t kLargest = 3 << 20;
  auto slab = self.allocate<std::byte>(kLargest + 1);
  auto places = co_await self.world().gather_all(slab.remote());
  std::vector<std::byte> buffer(kLargest + 1);
  std::uint64_t round = 0;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{64},
                                  std::size_t{4097}, std::size_t{65536}, kLargest}) {
    ++round;
    slab[bytes] = std::byte{0xee};
    co_await self.world().barrier();
    write_pattern(std::span(buffer).first(bytes), self.id(), round);
    co_await self.put(std::span(buffer).first(bytes), places[right_of(self)]);
    co_await self.world().barrier();
    CHECK_HERE(holds_pattern(slab.local().first(bytes), left_of(self), round));
    CHECK_HERE(slab[bytes] == std::byte{0xee});
    buffer.assign(buffer.size(), std::byte{0});
    co_await self.get(places[right_of(self)], std::span(buffer).first(bytes));
    CHECK_HERE(holds_pattern(std::span(buffer).first(bytes), self.id(), round));
    co_await self.world().barrier();
  }
  const Remote<std::uint32_t> word = places[right_of(self)].as<std::uint32_t>() + 3;
  co_await self.put_value(77 + self.id(), word);
  const std::uint32_t back = co_await self.get_value(word);
  CHECK_HERE(back == 77 + self.id());
  co_await self.world().barrier();
  co_await transfers_of_exposed_memory(self);
  co_await many_exposed_memories(self);
}

Task<> handles(Rank& self) {
  constexpr std::size_t kCount = 200;
  auto slab = self.allocate<std::uint64_t>(kCount);
  auto places = co_await self.world().gather_all(slab.remote());
  const auto target = places[right_of(self)];
  std::vector<std::uint64_t> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = self.id() * 1000 + i;

  Handle put = self.put_nb(std::span(values).first(kCount / 2), target);
  Handle second = self.put_nb(std::span(values).subspan(kCount / 2), target + kCount / 2);
  co_await second.done();
  co_await put.done();
  co_await self.world().barrier();
  for (std::size_t i = 0; i < kCount; ++i) CHECK_HERE(slab[i] == left_of(self) * 1000 + i);
  co_await self.world().barrier();

  std::vector<std::uint64_t> back(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    self.get_nbi(target + static_cast<std::ptrdiff_t>(i), std::span(back).subspan(i, 1));
  co_await self.nbi_done();
  CHECK_HERE(back == values);

  self.begin_access_region();
  for (std::size_t i = 0; i < kCount; ++i)
    self.put_nbi(std::span(values).subspan(kCount - 1 - i, 1), target + static_cast<std::ptrdiff_t>(i));
  Handle region = self.end_access_region();
  co_await region.done();
  co_await self.world().barrier();
  for (std::size_t i = 0; i < kCount; ++i) CHECK_HERE(slab[i] == left_of(self) * 1000 + kCount - 1 - i);
}

Task<> signals(Rank& self) {
  constexpr std::uint64_t kRounds = 200;
  auto data = self.allocate<std::uint64_t>(2);
  auto signal = self.allocate_signals(2);
  auto data_places = co_await self.world().gather_all(data.remote());
  auto signal_places = co_await self.world().gather_all(signal.remote());
  const std::uint32_t right = right_of(self);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    const std::uint64_t value = round * 100 + self.id();
    co_await self.put_signal(std::span(&value, 1), data_places[right], signal_places[right]);
    co_await self.wait(signal[0], round);
    CHECK_HERE(data[0] == round * 100 + left_of(self));
    co_await self.raise(signal_places[left_of(self)] + 1);  // "I have read it"
    co_await self.wait(signal[1], round);
  }
  // With a source that takes part: get, then tell.
  data[1] = self.id() + 5;
  co_await self.world().barrier();
  std::uint64_t got = 0;
  co_await self.get_signal(data_places[right] + 1, std::span(&got, 1), signal_places[right], 3);
  CHECK_HERE(got == right + 5);
  co_await self.wait(signal[0], kRounds + 3);
  auto late = co_await as_result(with_timeout(std::chrono::milliseconds(2), self.wait(signal[0], kRounds + 1'000'000)));
  CHECK_HERE(late.code() == std::errc::timed_out);
  auto both = co_await when_all(self.get_value(data_places[right]), self.wait(signal[0], kRounds));
  CHECK_HERE(std::get<1>(both) >= kRounds);
}

Task<> atomics(Rank& self) {
  auto counters = self.allocate<std::uint64_t>(2);
  auto words = self.allocate<std::int32_t>(1);
  auto counter_places = co_await self.world().gather_all(counters.remote());
  auto word_places = co_await self.world().gather_all(words.remote());
  // Of many at once few swaps meet what was there: their number grows with the square of the ranks.
  const std::uint64_t rounds = self.size() <= 4 ? 500 : 100;
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t old = co_await self.fetch_add(counter_places[0], 3);
    CHECK_HERE(i == 0 || old > previous);
    previous = old;
    co_await self.fetch_add(word_places[0], -1);
    for (;;) {                                                                       // an addition made of compare_swap
      const std::uint64_t seen = co_await self.fetch_add(counter_places[0] + 1, 0);  // a plain get would race
      const std::uint64_t found = co_await self.compare_swap(counter_places[0] + 1, seen, seen + 2);
      if (found == seen) break;
      co_await yield();
    }
  }
  co_await self.world().barrier();
  const std::uint64_t sum = co_await self.get_value(counter_places[0]);
  const std::uint64_t swapped = co_await self.get_value(counter_places[0] + 1);
  const std::int32_t negative = co_await self.get_value(word_places[0]);
  CHECK_HERE(sum == 3 * rounds * self.size());
  CHECK_HERE(swapped == 2 * rounds * self.size());
  CHECK_HERE(negative == -static_cast<std::int32_t>(rounds * self.size()));
  co_await self.world().barrier();  // the slabs must live until all have looked
}

Task<> errors(Rank& self) {
  auto slab = self.allocate<std::uint64_t>(4);
  auto places = co_await self.world().gather_all(slab.remote());
  const std::uint64_t value = 1;
  const Remote<std::uint64_t> beyond(RemoteAddress{~std::uint64_t{0} - 3, right_of(self), 0});
  const Remote<std::uint64_t> nobody(RemoteAddress{0, self.size(), 0});
  const Remote<std::uint64_t> concealed(RemoteAddress{0, right_of(self), 77});
  for (const auto& bad : {beyond, nobody, concealed}) {
    std::error_code code;
    try {
      co_await self.put(std::span(&value, 1), bad);
    } catch (const Error& error) {
      code = error.code();
    }
    CHECK_HERE(code == (bad.rank() == self.size() ? Errc::no_such_peer : Errc::out_of_segment));
    code.clear();
    self.put_nbi(std::span(&value, 1), bad);
    try {
      co_await self.nbi_done();
    } catch (const Error& error) {
      code = error.code();
    }
    CHECK_HERE(code.value() != 0);
  }
  auto result = co_await as_result(self.put(std::span(&value, 1), beyond));
  CHECK_HERE(result.code() == Errc::out_of_segment);
  std::error_code code;
  try {
    co_await self.fetch_add((places[right_of(self)].as<std::uint32_t>() + 1).as<std::uint64_t>(), 1);
  } catch (const Error& error) {
    code = error.code();
  }
  CHECK_HERE(code == Errc::misaligned);
  code.clear();
  try {
    auto too_large = self.allocate<std::byte>(std::size_t{1} << 60);
  } catch (const Error& error) {
    code = error.code();
  }
  CHECK_HERE(code == Errc::segment_full);
  co_await self.world().barrier();
}

}  // namespace coracle::internals::conformance
