// Remotes that name no place, or one that is no longer what it was: every operation refuses them, and nothing is
// written.
#include <string>

#include "runtime/core/error.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

/// The error that `operation` ends with.
template <class Operation>
Task<std::string> error_of(Operation operation, std::error_code& code) {
  try {
    co_await operation;
  } catch (const Error& error) {
    code = error.code();
    co_return error.what();
  }
  code.clear();
  co_return "";
}

#define REFUSED_HERE(operation, errc)                                                      \
  do {                                                                                     \
    std::error_code code;                                                                  \
    const std::string text = co_await error_of(operation, code);                           \
    CHECK_HERE(code == (errc));                                                            \
    CHECK_HERE((errc) != Errc::no_such_peer || text.find(kNotGiven) != std::string::npos); \
  } while (false)

constexpr const char* kNotGiven = "a Remote that has not been given a place";

Task<> transfers_without_place(Rank& self) {
  const Remote<std::uint64_t> none;
  std::vector<std::uint64_t> data(8, 99);
  REFUSED_HERE(self.put(data, none), Errc::no_such_peer);
  REFUSED_HERE(self.put(data, none + 3), Errc::no_such_peer);
  REFUSED_HERE(self.get(none, data), Errc::no_such_peer);
  REFUSED_HERE(self.put(std::span(data).first(0), none), Errc::no_such_peer);
  REFUSED_HERE(self.put_value(std::uint64_t{1}, none), Errc::no_such_peer);
  REFUSED_HERE(self.get_value(none), Errc::no_such_peer);
  REFUSED_HERE(self.get_value(none.as<std::uint32_t>()), Errc::no_such_peer);
  Handle put = self.put_nb(data, none);
  REFUSED_HERE(put.done(), Errc::no_such_peer);
  Handle get = self.get_nb(none, data);
  REFUSED_HERE(get.done(), Errc::no_such_peer);
  self.put_nbi(data, none);
  REFUSED_HERE(self.nbi_done(), Errc::no_such_peer);
  CHECK_HERE(self.reach(none) == nullptr);
  CHECK_HERE(!none.is_set());
}

Task<> scattered_without_place(Rank& self) {
  const Remote<std::uint64_t> none;
  std::vector<std::uint64_t> data(8, 99);
  const Layout row = Layout::of<std::uint64_t>().contiguous(4);
  const Layout column = Layout::of<std::uint64_t>().vector(4, 1, 2);
  const ScatteredSource source{data.data(), row};
  const ScatteredTarget target{data.data(), row};
  REFUSED_HERE(self.put(source, none, column), Errc::no_such_peer);
  REFUSED_HERE(self.get(none, column, 1, target), Errc::no_such_peer);
  const Strided shape{.count = 2, .block = 2, .source_stride = 4, .target_stride = 4};
  REFUSED_HERE(self.put_strided(data.data(), none, shape), Errc::no_such_peer);
  REFUSED_HERE(self.get_strided(none, data.data(), shape), Errc::no_such_peer);
}

Task<> signals_and_atomics_without_place(Rank& self, Remote<std::uint64_t> good) {
  const Remote<std::uint64_t> none;
  const Remote<Signal> no_signal;
  const std::uint64_t value = 4711;
  REFUSED_HERE(self.raise(no_signal), Errc::no_such_peer);
  REFUSED_HERE(self.put_signal(std::span(&value, 1), good, no_signal), Errc::no_such_peer);
  REFUSED_HERE(self.put_signal(std::span(&value, 1), none, good.as<Signal>()), Errc::no_such_peer);
  self.put_signal_nbi(std::span(&value, 1), good, no_signal);
  REFUSED_HERE(self.nbi_done(), Errc::no_such_peer);
  REFUSED_HERE(self.fetch_add(none, 1), Errc::no_such_peer);
  REFUSED_HERE(self.compare_swap(none, 0, 1), Errc::no_such_peer);
  REFUSED_HERE(self.atomic_load(none), Errc::no_such_peer);
  REFUSED_HERE(self.atomic_store(none, 1), Errc::no_such_peer);
  REFUSED_HERE(self.fetch_max(Remote<double>(), 1.0), Errc::no_such_peer);
}

std::uint32_t rank_of(Rank&, Remote<std::uint64_t> place) {
  return place.is_set() ? place.rank() : 12345;
}

/// Exposed memory has numbers that are used again: not for who still has the old one.
Task<> exposed_before(Rank& self) {
  std::vector<std::uint64_t> first(16, 1);
  std::vector<std::uint64_t> second(16, 2);
  std::vector<Remote<std::uint64_t>> places;
  {
    const Exposed<std::uint64_t> exposed = self.expose(std::span(first));
    places = co_await self.world().gather_all(exposed.remote());
    co_await self.world().barrier();
  }
  const Exposed<std::uint64_t> exposed = self.expose(std::span(second));
  co_await self.world().barrier();
  const Remote<std::uint64_t> stale = places[(self.id() + 1) % self.size()];
  REFUSED_HERE(self.put_value(std::uint64_t{77}, stale + 2), Errc::out_of_segment);
  REFUSED_HERE(self.get_value(stale), Errc::out_of_segment);
  co_await self.world().barrier();
  for (const std::uint64_t value : second) CHECK_HERE(value == 2);
}

}  // namespace

Task<> missing_places(Rank& self) {
  auto slab = self.allocate<std::uint64_t>(64);
  const auto places = co_await self.world().gather_all(slab.remote());
  const std::uint32_t right = (self.id() + 1) % self.size();
  co_await transfers_without_place(self);
  co_await scattered_without_place(self);
  co_await signals_and_atomics_without_place(self, places[right]);
  const std::uint32_t answer = co_await self.call(right, rank_of, Remote<std::uint64_t>());
  CHECK_HERE(answer == 12345);
  co_await self.world().barrier();
  for (const std::uint64_t value : slab.local()) CHECK_HERE(value == 0);
  co_await self.world().barrier();
  co_await exposed_before(self);
}

}  // namespace coracle::internals::conformance
