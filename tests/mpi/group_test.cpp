// Groups against naive lists of ranks.
#include "interfaces/mpi/core/group.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/process.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"
#include "tests/seeds.hpp"

namespace mpi_group_test {

namespace {

using namespace coracle::mpi;
using coracle::internals::test::Seeds;
using coracle::mpi::tests::error_of;

using Ranks = std::vector<std::uint32_t>;

/// Holds a use, as a program's handle does.
Ref<Group> group_of(Ranks ranks) {
  return Ref<Group>::adopt(make_group(std::move(ranks)));
}

template <class Function, class... Arguments>
Ranks made_by(Function function, Arguments... arguments) {
  Group* made = nullptr;
  function(arguments..., made);
  const Ranks members = made->members();
  group_free(made);
  CHECK(made == nullptr);
  return members;
}

Ranks some_of(std::mt19937_64& random, std::uint32_t job) {
  Ranks ranks(job);
  std::iota(ranks.begin(), ranks.end(), 0U);
  if (random() % 3 != 0) std::shuffle(ranks.begin(), ranks.end(), random);
  ranks.resize(random() % (job + 1));
  return ranks;
}

bool has(const Ranks& ranks, std::uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

Ranks filtered(const Ranks& from, const Ranks& by, bool members) {
  Ranks left;
  for (const std::uint32_t rank : from) {
    if (has(by, rank) == members) left.push_back(rank);
  }
  return left;
}

void check_sets(const Ranks& first, const Ranks& second) {
  const Ref<Group> one = group_of(first);
  const Ref<Group> other = group_of(second);
  Ranks both = first;
  const Ranks added = filtered(second, first, false);
  both.insert(both.end(), added.begin(), added.end());
  CHECK(made_by(group_union, one.get(), other.get()) == both);
  CHECK(made_by(group_intersection, one.get(), other.get()) == filtered(first, second, true));
  CHECK(made_by(group_difference, one.get(), other.get()) == filtered(first, second, false));
}

void check_comparison(const Ranks& first, const Ranks& second) {
  const Ref<Group> one = group_of(first);
  const Ref<Group> other = group_of(second);
  Ranks sorted = first;
  Ranks sorted_other = second;
  std::sort(sorted.begin(), sorted.end());
  std::sort(sorted_other.begin(), sorted_other.end());
  int result = 0;
  group_compare(one.get(), other.get(), result);
  const Comparison expected = first == second          ? Comparison::identical
                              : sorted == sorted_other ? Comparison::similar
                                                       : Comparison::unequal;
  CHECK(result == static_cast<int>(expected));
}

void check_translation(const Ranks& first, const Ranks& second) {
  const Ref<Group> one = group_of(first);
  const Ref<Group> other = group_of(second);
  std::vector<int> ranks(first.size() + 1);
  std::iota(ranks.begin(), ranks.end(), 0);
  ranks.back() = kProcNull;
  std::vector<int> translated(ranks.size());
  group_translate_ranks(one.get(), static_cast<int>(ranks.size()), ranks.data(), other.get(), translated.data());
  CHECK(translated.back() == kProcNull);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto found = std::find(second.begin(), second.end(), first[i]);
    CHECK(translated[i] == (found == second.end() ? kUndefined : static_cast<int>(found - second.begin())));
  }
}

/// Includes and excludes places by chance.
void check_choices(const Ranks& all, std::mt19937_64& random) {
  const Ref<Group> group = group_of(all);
  std::vector<int> places(all.size());
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  places.resize(random() % (all.size() + 1));
  Ranks chosen;
  for (const int place : places) chosen.push_back(all[static_cast<std::size_t>(place)]);
  const auto count = static_cast<int>(places.size());
  CHECK(made_by(group_incl, group.get(), count, Numbers(places.data())) == chosen);
  CHECK(made_by(group_excl, group.get(), count, Numbers(places.data())) == filtered(all, chosen, false));
}

}  // namespace

TEST_CASE("mpi groups: sets, comparisons, translations and choices are those of naive lists") {
  for (const std::uint64_t seed : Seeds("CORACLE_MPI_GROUP_SEEDS", 100)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto job = static_cast<std::uint32_t>(seed % 4 == 0 ? 200 : 1 + random() % 12);
    const Ranks first = some_of(random, job);
    Ranks second = some_of(random, job);
    if (random() % 4 == 0) second = first;
    if (random() % 2 == 0) std::shuffle(second.begin(), second.end(), random);
    check_sets(first, second);
    check_comparison(first, second);
    check_translation(first, second);
    check_choices(first, random);
  }
}

TEST_CASE("mpi groups: ranges go up and down, and their last rank need not be met") {
  Ranks all(10);
  std::iota(all.begin(), all.end(), 100U);
  const Ref<Group> group = group_of(all);
  const int ranges[] = {0, 4, 3, 9, 7, -1, 5, 5, 8};
  CHECK(made_by(group_range_incl, group.get(), 3, Numbers(ranges)) == Ranks{100, 103, 109, 108, 107, 105});
  CHECK(made_by(group_range_excl, group.get(), 3, Numbers(ranges)) == Ranks{101, 102, 104, 106});
}

TEST_CASE("mpi groups: one without members is MPI_GROUP_EMPTY, which may be freed") {
  const Ref<Group> group = group_of({3, 1});
  Group* made = nullptr;
  group_incl(group.get(), 0, Numbers(static_cast<const int*>(nullptr)), made);
  CHECK(made == &empty_group());
  group_free(made);
  CHECK(empty_group().handle()->object == &empty_group());
  int size = -1;
  group_size(&empty_group(), size);
  CHECK(size == 0);
}

TEST_CASE("mpi groups: this process's rank is its place") {
  const std::uint32_t before = this_process().rank;
  this_process().rank = 3;
  int rank = -1;
  group_rank(group_of({7, 3, 1}).get(), rank);
  CHECK(rank == 1);
  group_rank(&empty_group(), rank);
  CHECK(rank == kUndefined);
  this_process().rank = before;
}

TEST_CASE("mpi groups: wrong arguments are told by their values") {
  const Ref<Group> group = group_of({3, 1});
  Group* made = nullptr;
  const auto incl = [&](std::vector<int> ranks) {
    return error_of([&] { group_incl(group.get(), static_cast<int>(ranks.size()), Numbers(ranks.data()), made); });
  };
  CHECK(incl({0, 2}).is(ErrorClass::rank, "rank 2 is not in the group, which has 2 members"));
  CHECK(incl({1, 1}).is(ErrorClass::rank, "rank 1 is named twice"));
  CHECK(error_of([&] { group_free(made); }).is(ErrorClass::group, "MPI_GROUP_NULL"));
  const int standing[] = {0, 1, 0};
  CHECK(error_of([&] {
          group_range_incl(group.get(), 1, Numbers(standing), made);
        }).is(ErrorClass::arg, "(0, 1, 0) has the stride 0"));
  const int away[] = {1, 0, 1};
  CHECK(error_of([&] { group_range_excl(group.get(), 1, Numbers(away), made); }).is(ErrorClass::rank, "(1, 0, 1)"));
}

}  // namespace mpi_group_test
