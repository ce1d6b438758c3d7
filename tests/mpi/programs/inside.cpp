// A program of MPI that awaits: what <coracle/mpi.hpp> gives is one with what MPI has.
#include <mpi.h>

#include <coracle/coracle.hpp>
#include <coracle/mpi.hpp>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using namespace coracle;

Errc failure_of(void (*function)()) {
  try {
    function();
  } catch (const Error& error) {
    for (const Errc each : {Errc::unsupported, Errc::bad_input})
      if (error.code() == each) return each;
  }
  return Errc::deadlock;  // no such failure
}

void use_world() {
  from_mpi(MPI_COMM_WORLD);
}

void check_before_init() {
  REQUIRE(!runs_mpi(), "before MPI_Init");
  REQUIRE(failure_of(use_world) == Errc::unsupported, "a team before MPI_Init");
  REQUIRE(failure_of([] { progress(); }) == Errc::unsupported, "progress before MPI_Init");
}

/// Members in the reverse order, without the last process of the world.
void check_members() {
  MPI_Comm part = MPI_COMM_NULL;
  const bool is_last = rank_of_world == size_of_world - 1;
  MPI_Comm_split(MPI_COMM_WORLD, is_last ? MPI_UNDEFINED : 3, -rank_of_world, &part);
  if (is_last) return;
  Team& team = from_mpi(part);
  int rank = 0;
  MPI_Comm_rank(part, &rank);
  REQUIRE(team.size() == static_cast<std::uint32_t>(size_of_world - 1), "%u members", team.size());
  REQUIRE(team.index() == static_cast<std::uint32_t>(rank), "member %u is not rank %d", team.index(), rank);
  REQUIRE(team.member(0) == static_cast<std::uint32_t>(size_of_world - 2), "%u comes first", team.member(0));
  REQUIRE(&team.rank() == &from_mpi(MPI_COMM_WORLD).rank(), "another rank");
  REQUIRE(&team == &from_mpi(part), "another team");
  const std::uint32_t sum = await(team.all_reduce(team.index(), std::plus<>()));
  REQUIRE(sum == team.size() * (team.size() - 1) / 2, "the sum of indices is %u", sum);
  MPI_Comm_free(&part);
}

/// Messages of both kinds match each other, and collectives of both take turns.
Task<int> pass_on(Team& team, int value) {
  const std::uint32_t right = (team.index() + 1) % team.size();
  co_await team.send_value(value, right, 7);
  co_return co_await team.recv_value<int>(kAnySource, 8);
}

void check_messages() {
  Team& team = from_mpi(MPI_COMM_WORLD);
  const int left = (rank_of_world + size_of_world - 1) % size_of_world;
  Started<int> passed = start(team.rank(), pass_on(team, rank_of_world * 10));
  int got = -1;
  MPI_Status status;
  MPI_Recv(&got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &status);
  REQUIRE(got == left * 10, "%d from %d", got, left);
  MPI_Send(&got, 1, MPI_INT, left, 8, MPI_COMM_WORLD);
  const int back = await(passed.done());
  REQUIRE(back == rank_of_world * 10, "%d came back", back);

  int sum = rank_of_world;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const int most = await(team.all_reduce(sum, max_of));
  MPI_Barrier(MPI_COMM_WORLD);
  REQUIRE(most == size_of_world * (size_of_world - 1) / 2, "%d", most);
}

/// A column of one process's matrix becomes a row of its neighbour's, by MPI's datatypes.
Task<> put_column(Rank& self, const std::vector<double>& matrix, Layout column, Remote<double> there,
                  Remote<Signal> arrived) {
  const Layout row = Layout::of<double>().contiguous(4);
  const ScatteredSource source{&matrix[2], column};
  co_await self.put(source, there, row);
  co_await self.raise(arrived);
}

void check_puts() {
  Team& team = from_mpi(MPI_COMM_WORLD);
  Rank& self = team.rank();
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 6, MPI_DOUBLE, &column);
  const Layout layout = layout_of(column);
  MPI_Type_free(&column);
  REQUIRE(layout.size() == 4 * sizeof(double), "%ld bytes", static_cast<long>(layout.size()));

  auto row = self.allocate<double>(4);
  auto arrived = self.allocate_signals(1);
  const auto rows = await(team.gather_all(row.remote()));
  const auto signals = await(team.gather_all(arrived.remote()));
  std::vector<double> matrix(24);
  std::iota(matrix.begin(), matrix.end(), 100.0 * rank_of_world);
  const std::uint32_t right = (team.index() + 1) % team.size();
  await(put_column(self, matrix, layout, rows[right], signals[right]));
  await(self.wait(arrived[0], 1));
  const double first = 100.0 * ((rank_of_world + size_of_world - 1) % size_of_world) + 2;
  for (int i = 0; i < 4; ++i) REQUIRE(row[static_cast<std::size_t>(i)] == first + 6 * i, "place %d has %g", i, row[i]);
  const double theirs = await(self.get_value(rows[right] + 3));
  REQUIRE(theirs == 100.0 * rank_of_world + 20, "the neighbour has %g", theirs);
  MPI_Barrier(MPI_COMM_WORLD);  // an end of the slabs' use as good as the team's
}

/// Functions of the program run at peers, though the library lies in another file; a place in the program is told.
int twice(Rank& rank, int value) {
  return 2 * value + static_cast<int>(rank.id());
}
struct Shelf {
  int value = 0;
};
void put_down(Rank&, Shelf& shelf, int value) {
  shelf.value = value;
}

void check_calls() {
  Team& team = from_mpi(MPI_COMM_WORLD);
  Rank& self = team.rank();
  const std::uint32_t right = (team.index() + 1) % team.size();
  const int doubled = await(self.call(right, twice, 21));
  REQUIRE(doubled == 42 + static_cast<int>(right), "%d", doubled);
  const int sum = await(self.call(
      right, [](Rank&, int a, int b) { return a + b; }, 1, 2));
  REQUIRE(sum == 3, "%d", sum);
  Distributed<Shelf> shelf(self, "shelf");
  await(shelf.call(right, put_down, rank_of_world + 5));
  await(team.barrier());
  const int left = (rank_of_world + size_of_world - 1) % size_of_world;
  Shelf found = await(shelf.fetch(self.id()));
  REQUIRE(found.value == left + 5, "%d", found.value);
  await(team.barrier());
}

/// A function of another file has no address that all ranks agree on.
void check_foreign_call() {
  Rank& self = from_mpi(MPI_COMM_WORLD).rank();
  bool refused = false;
  try {
    await(self.request(self.id(), reinterpret_cast<Handler>(&std::abort), {}));
  } catch (const Error& error) {
    refused = error.code() == Errc::bad_handler;
  }
  REQUIRE(refused, "a message for a function of another library");
}

/// Where the program has called different collectives is told, though the library lies in another file.
void check_places() {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &part);
  Team& team = from_mpi(part);
  std::string told;
  try {
    if (rank_of_world == 0) await(team.barrier());
    if (rank_of_world != 0) await(team.all_reduce(1, std::plus<>()));
    await(team.barrier());
  } catch (const Error& error) {
    told = error.what();
  }
  const bool is_alone = size_of_world == 1;
  REQUIRE(is_alone || told.find("inside.cpp:") != std::string::npos, "it says %s", told.c_str());
  MPI_Comm_free(&part);
}

/// Functions of MPI turn the loop below a coroutine that calls them: the others go on meanwhile, and may end there.
Task<> block(Team& team, int rounds, int& done) {
  for (int i = 0; i < rounds; ++i) {
    co_await yield();
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == static_cast<int>(team.size()), "the sum is %d", sum);
  }
  ++done;
}

Task<> yield_once() {
  co_await yield();
}

void check_blocking() {
  Team& team = from_mpi(MPI_COMM_WORLD);
  int done = 0;
  for (int i = 0; i < 20; ++i) {
    Started<> blocking = start(team.rank(), block(team, 1, done));
    std::vector<Started<>> others;
    for (int each = 0; each < 4; ++each) others.push_back(start(team.rank(), yield_once()));
    await(blocking.done());
    for (const Started<>& other : others) REQUIRE(other.finished(), "it was ready before");
  }
  REQUIRE(done == 20, "%d have ended", done);
}

/// What is wrong is told by an exception that says so.
void check_errors() {
  REQUIRE(failure_of([] { from_mpi(MPI_COMM_NULL); }) == Errc::bad_input, "the team of no communicator");
  REQUIRE(failure_of([] { layout_of(MPI_DATATYPE_NULL); }) == Errc::bad_input, "the layout of no datatype");
  Errc elsewhere = Errc::deadlock;
  std::thread([&elsewhere] { elsewhere = failure_of(use_world); }).join();
  REQUIRE(elsewhere == Errc::unsupported, "a team on another thread");
  Team& team = from_mpi(MPI_COMM_WORLD);
  bool refused = false;
  try {
    const int value = 1;
    const Remote<int> nowhere;
    await(team.rank().put_value(value, nowhere));
  } catch (const Error& error) {
    refused = error.code() == Errc::no_such_peer;
  }
  REQUIRE(refused, "a put to no place");
}

}  // namespace

int main(int argc, char** argv) {
  check_before_init();
  start_checks(&argc, &argv);
  REQUIRE(runs_mpi(), "after MPI_Init");
  check_members();
  check_messages();
  check_puts();
  check_calls();
  check_foreign_call();
  check_blocking();
  check_places();
  check_errors();
  const int status = end_checks("inside");
  if (runs_mpi() || failure_of(use_world) != Errc::unsupported) return 1;
  return status;
}
