// Atomics of every kind, on every type that they take, against all ranks at once.
#include <cmath>
#include <limits>

#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

enum class Color : std::uint32_t { red, green, blue };

struct Pair {
  std::uint32_t first;
  std::uint32_t second;
  bool operator==(const Pair&) const = default;
};

/// One place for each type, at each rank.
template <class T>
struct Places {
  Slab<T> own;
  std::vector<Remote<T>> of;
};

template <class T>
Task<Places<T>> make_places(Rank& self, std::size_t count) {
  Places<T> places{self.allocate<T>(count), {}};
  places.of = co_await self.world().gather_all(places.own.remote());
  co_return places;
}

/// Whatever the type: each rank has a place to itself at its right neighbour, so that the old values are known.
template <class T>
Task<> plain_words(Rank& self, T one, T other) {
  Places<T> places = co_await make_places<T>(self, 1);
  const Remote<T> there = places.of[(self.id() + 1) % self.size()];
  co_await self.atomic_store(there, one);
  const T stored = co_await self.atomic_load(there);
  CHECK_HERE(stored == one);
  const T swapped = co_await self.atomic_swap(there, other);
  CHECK_HERE(swapped == one);
  const T kept = co_await self.compare_swap(there, one, one);
  CHECK_HERE(kept == other);
  const T taken = co_await self.compare_swap(there, other, one);
  CHECK_HERE(taken == other);
  const T last = co_await self.atomic_load(there);
  CHECK_HERE(last == one);
  co_await self.world().barrier();
  CHECK_HERE(places.own[0] == one);
  co_await self.world().barrier();
}

template <class T>
Task<> arithmetic_alone(Rank& self) {
  Places<T> places = co_await make_places<T>(self, 1);
  const Remote<T> there = places.of[(self.id() + 1) % self.size()];
  const T low = std::numeric_limits<T>::lowest();
  const T high = std::numeric_limits<T>::max();
  co_await self.atomic_store(there, T{5});
  const T five = co_await self.fetch_min(there, low);
  const T lowest = co_await self.fetch_min(there, T{7});
  const T still = co_await self.fetch_max(there, high);
  const T highest = co_await self.fetch_max(there, T{7});
  CHECK_HERE(five == T{5});
  CHECK_HERE(lowest == low);
  CHECK_HERE(still == low);
  CHECK_HERE(highest == high);
  co_await self.atomic_store(there, T{5});
  const T before = co_await self.fetch_add(there, T{3});
  const T after = co_await self.atomic_load(there);
  CHECK_HERE(before == T{5});
  CHECK_HERE(after == T{8});
  co_await self.world().barrier();
}

template <class T>
Task<> bits_alone(Rank& self) {
  Places<T> places = co_await make_places<T>(self, 1);
  const Remote<T> there = places.of[(self.id() + 1) % self.size()];
  co_await self.atomic_store(there, static_cast<T>(0b1100));
  const T before_and = co_await self.fetch_and(there, static_cast<T>(~T{0} << 3));
  const T before_or = co_await self.fetch_or(there, static_cast<T>(0b0011));
  const T before_xor = co_await self.fetch_xor(there, static_cast<T>(0b1001));
  const T last = co_await self.atomic_load(there);
  CHECK_HERE(before_and == static_cast<T>(0b1100));
  CHECK_HERE(before_or == static_cast<T>(0b1000));
  CHECK_HERE(before_xor == static_cast<T>(0b1011));
  CHECK_HERE(last == static_cast<T>(0b0010));
  co_await self.world().barrier();
}

/// All ranks on the same places of rank 0.
template <class T>
Task<> all_at_once(Rank& self) {
  Places<T> places = co_await make_places<T>(self, 3);
  const Remote<T> sum = places.of[0];
  const std::uint32_t rounds = self.size() <= 4 ? 50 : 10;
  // A sum that a double holds exactly, whatever its order.
  for (std::uint32_t round = 0; round < rounds; ++round) {
    co_await self.fetch_add(sum, static_cast<T>(1));
    co_await self.fetch_max(sum + 1, static_cast<T>(self.id() * 100 + round));
    co_await self.fetch_min(sum + 2, static_cast<T>(0) - static_cast<T>(std::is_unsigned_v<T> ? 0 : self.id() + round));
  }
  co_await self.world().barrier();
  const std::uint32_t last = self.size() - 1;
  const T added = co_await self.atomic_load(sum);
  const T largest = co_await self.atomic_load(sum + 1);
  const T least = co_await self.atomic_load(sum + 2);
  CHECK_HERE(added == static_cast<T>(self.size() * rounds));
  CHECK_HERE(largest == static_cast<T>(last * 100 + rounds - 1));
  CHECK_HERE(least == (std::is_unsigned_v<T> ? T{0} : static_cast<T>(T{0} - static_cast<T>(last + rounds - 1))));
  co_await self.world().barrier();
}

/// Every bit is set by one rank, and taken back by it: none gets lost.
Task<> bits_at_once(Rank& self) {
  Places<std::uint64_t> places = co_await make_places<std::uint64_t>(self, 2);
  const Remote<std::uint64_t> word = places.of[0];
  const std::uint64_t own = std::uint64_t{1} << self.id() % 64;
  if (self.id() < 64) co_await self.fetch_or(word, own);
  co_await self.fetch_xor(word + 1, self.id() + 1U);
  co_await self.world().barrier();
  const std::uint64_t set = co_await self.atomic_load(word);
  const std::uint64_t mixed = co_await self.atomic_load(word + 1);
  std::uint64_t expected = 0;
  for (std::uint64_t id = 0; id < self.size(); ++id) expected ^= id + 1;
  CHECK_HERE(set == (self.size() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << self.size()) - 1));
  CHECK_HERE(mixed == expected);
  co_await self.world().barrier();
  if (self.id() < 64) co_await self.fetch_and(word, ~own);
  co_await self.world().barrier();
  const std::uint64_t none = co_await self.atomic_load(word);
  CHECK_HERE(none == 0);
  co_await self.world().barrier();
}

/// What is not a number changes nothing, and is changed by nothing but an assignment.
Task<> not_a_number(Rank& self) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Places<double> places = co_await make_places<double>(self, 1);
  const Remote<double> there = places.of[(self.id() + 1) % self.size()];
  co_await self.atomic_store(there, 2.5);
  co_await self.fetch_min(there, nan);
  co_await self.fetch_max(there, nan);
  const double number = co_await self.atomic_swap(there, nan);
  CHECK_HERE(number == 2.5);
  co_await self.fetch_min(there, 1.0);
  const double stays = co_await self.atomic_load(there);
  CHECK_HERE(std::isnan(stays));
  // Of the same value, but of other bits.
  co_await self.atomic_store(there, 0.0);
  const double old = co_await self.compare_swap(there, -0.0, 1.0);
  const double kept = co_await self.atomic_load(there);
  CHECK_HERE(old == 0.0);
  CHECK_HERE(kept == 0.0);
  co_await self.world().barrier();
}

/// A store is seen with what was put before it.
Task<> order(Rank& self) {
  Places<std::uint64_t> places = co_await make_places<std::uint64_t>(self, 2);
  const Remote<std::uint64_t> right = places.of[(self.id() + 1) % self.size()];
  const Remote<std::uint64_t> own = places.of[self.id()];
  for (std::uint64_t round = 1; round <= 20; ++round) {
    co_await self.put_value(round * 3, right + 1);
    co_await self.atomic_store(right, round);
    for (;;) {
      const std::uint64_t seen = co_await self.atomic_load(own);
      if (seen == round) break;
      co_await yield();
    }
    CHECK_HERE(places.own[1] == round * 3);
    co_await self.world().barrier();
  }
}

}  // namespace

Task<> more_atomics(Rank& self) {
  co_await plain_words<std::uint32_t>(self, 1, 2);
  co_await plain_words<std::int64_t>(self, -1, std::numeric_limits<std::int64_t>::min());
  co_await plain_words<float>(self, 1.5F, -3.25F);
  co_await plain_words<double>(self, 1.5, 1e300);
  co_await plain_words<Color>(self, Color::green, Color::blue);
  co_await plain_words<Pair>(self, Pair{1, 2}, Pair{3, 4});
  co_await arithmetic_alone<std::int32_t>(self);
  co_await arithmetic_alone<std::uint32_t>(self);
  co_await arithmetic_alone<std::int64_t>(self);
  co_await arithmetic_alone<std::uint64_t>(self);
  co_await arithmetic_alone<float>(self);
  co_await arithmetic_alone<double>(self);
  co_await bits_alone<std::int32_t>(self);
  co_await bits_alone<std::uint32_t>(self);
  co_await bits_alone<std::int64_t>(self);
  co_await bits_alone<std::uint64_t>(self);
  co_await all_at_once<std::int32_t>(self);
  co_await all_at_once<std::uint64_t>(self);
  co_await all_at_once<float>(self);
  co_await all_at_once<double>(self);
  co_await bits_at_once(self);
  co_await not_a_number(self);
  co_await order(self);
}

}  // namespace coracle::internals::conformance
