// What collectives make of a call's arguments, where no job is needed: blocks, rows, the edges of topologies, and the
// order of what is combined.
#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "interfaces/mpi/core/collectives/arguments.hpp"
#include "interfaces/mpi/core/collectives/block_list.hpp"
#include "interfaces/mpi/core/collectives/neighbour_edges.hpp"
#include "interfaces/mpi/core/collectives/reducing.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_collectives_test {

namespace {

using namespace coracle::mpi;
using namespace coracle::mpi::collectives;
using coracle::internals::Layout;
using coracle::mpi::tests::error_of;

constexpr BlockNames kNames{"recvcounts", "displs"};

Datatype* ints() {
  return predefined_datatype("MPI_INT");
}

/// An int in each 8 bytes.
Ref<Datatype> ints_with_gaps() {
  Datatype* made = nullptr;
  type_create_resized(ints(), 0, 8, made);
  made->commit();
  return Ref<Datatype>::adopt(made);
}

ReceivedBlocks blocks_of(std::vector<int>& buffer, const std::vector<int>& counts, const std::vector<int>& places,
                         Datatype* datatype) {
  return {buffer.data(), static_cast<std::uint32_t>(counts.size()), counts.data(), places.data(), datatype, kNames};
}

std::vector<int> numbers(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 100);
  return all;
}

}  // namespace

TEST_CASE("mpi collectives: blocks one after the other are a row") {
  std::vector<int> buffer(10);
  const ReceivedBlocks blocks = blocks_of(buffer, {2, 0, 3}, {4, 77, 6}, ints());
  CHECK(blocks.is_plain());
  CHECK(blocks.blocks().in_a_row());
  CHECK(blocks.blocks().total() == 20);
  CHECK(blocks.span().data() == reinterpret_cast<std::byte*>(&buffer[4]));
  CHECK(blocks.span().size() == 20);
  CHECK(blocks.bytes(1) == 0);
}

TEST_CASE("mpi collectives: blocks in any order, also before the buffer, are placed from the first byte on") {
  std::vector<int> buffer(12);
  const std::vector<int> counts = {2, 1, 0, 3};
  const std::vector<int> places = {3, -4, 1000, -2};
  const ReceivedBlocks blocks(&buffer[4], 4, counts.data(), places.data(), ints(), kNames);
  CHECK(blocks.is_plain());
  const Blocks placed = blocks.blocks();
  CHECK_FALSE(placed.in_a_row());
  CHECK(blocks.span().data() == reinterpret_cast<std::byte*>(&buffer[0]));
  CHECK(placed.reach() == blocks.span().size());
  CHECK(placed.of(blocks.span(), 0).data() == reinterpret_cast<std::byte*>(&buffer[7]));
  CHECK(placed.of(blocks.span(), 1).data() == reinterpret_cast<std::byte*>(&buffer[0]));
  CHECK(placed.of(blocks.span(), 2).empty());
  CHECK(placed.of(blocks.span(), 3).size() == 12);
}

TEST_CASE("mpi collectives: blocks with gaps are packed into a row, and unpacked without a touch of the gaps") {
  const Ref<Datatype> gaps = ints_with_gaps();
  std::vector<int> buffer = numbers(16);
  const std::vector<int> before = buffer;
  const ReceivedBlocks blocks = blocks_of(buffer, {2, 1, 3}, {5, 0, 1}, gaps.get());
  CHECK_FALSE(blocks.is_plain());
  const Blocks row = blocks.row();
  CHECK(row.total() == 24);
  std::vector<int> packed(6);
  for (std::uint32_t place = 0; place < 3; ++place)
    pack_block(blocks, row, place, std::as_writable_bytes(std::span(packed)));
  CHECK(packed == std::vector<int>{110, 112, 100, 102, 104, 106});
  for (int& value : packed) value += 1000;
  unpack_blocks(std::as_bytes(std::span(packed)), row, blocks);
  std::vector<int> expected = before;
  for (const std::size_t place : {10U, 12U, 0U, 2U, 4U, 6U}) expected[place] += 1000;
  CHECK(buffer == expected);
}

TEST_CASE("mpi collectives: each block has a datatype of its own, and its displacement is in bytes") {
  const Ref<Datatype> gaps = ints_with_gaps();
  std::vector<int> buffer = numbers(12);
  const std::array<Datatype*, 2> datatypes = {gaps.get(), ints()};
  const std::array<int, 2> counts = {2, 3};
  const std::array<int, 2> places = {32, 4};
  const SentBlocks blocks(buffer.data(), 2, counts.data(), places.data(), datatypes, kNames);
  std::vector<int> packed(5);
  pack_blocks(blocks, blocks.row(), std::as_writable_bytes(std::span(packed)));
  CHECK(packed == std::vector<int>{108, 110, 101, 102, 103});
}

TEST_CASE("mpi collectives: wrong arrays of blocks are refused by name") {
  std::vector<int> buffer(4);
  const std::vector<int> good = {1, 1};
  const std::vector<int> bad = {1, -2};
  const auto made = [&](const int* counts, const int* places, Datatype* datatype) {
    return error_of([&] { ReceivedBlocks(buffer.data(), 2, counts, places, datatype, kNames); });
  };
  CHECK(made(bad.data(), good.data(), ints()).is(ErrorClass::count, "recvcounts[1] is -2"));
  CHECK(made(nullptr, good.data(), ints()).is(ErrorClass::arg, "recvcounts is null"));
  CHECK(made(good.data(), nullptr, ints()).is(ErrorClass::arg, "displs is null"));
  CHECK(made(good.data(), good.data(), nullptr).code == static_cast<int>(ErrorClass::type));
  const auto at_null = error_of([&] { ReceivedBlocks(nullptr, 2, good.data(), good.data(), ints(), kNames); });
  CHECK(at_null.code == static_cast<int>(ErrorClass::buffer));
}

TEST_CASE("mpi collectives: other wrong arguments are refused") {
  int value = 0;
  CHECK(error_of([] { total_of(-1, 3, "sendcount"); }).is(ErrorClass::count, "sendcount is -1"));
  CHECK(error_of([] { total_of(Count{1} << 62, 3, "sendcount"); }).code == static_cast<int>(ErrorClass::count));
  CHECK(total_of(5, 3, "sendcount") == 15);
  CHECK(error_of([] { refuse_in_place(kInPlace, "recvbuf"); }).is(ErrorClass::buffer, "recvbuf is MPI_IN_PLACE"));
  CHECK(error_of([] { check_own_bytes(8, 4); }).is(ErrorClass::truncate, "8 bytes"));
  CHECK(error_of([&] { refuse_aliases(&value, &value, 4); }).is(ErrorClass::buffer, "same memory"));
  CHECK(error_of([&] { refuse_aliases(&value, &value, 0); }).code == 0);
}

TEST_CASE("mpi collectives: values in a row are not copied, others are") {
  const Ref<Datatype> gaps = ints_with_gaps();
  std::vector<int> buffer = numbers(8);
  const SentValues plain(buffer.data(), 8, ints());
  CHECK(RowToSend(plain.memory()).span().data() == reinterpret_cast<const std::byte*>(buffer.data()));
  const SentValues scattered(buffer.data(), 4, gaps.get());
  const RowToSend row(scattered.memory());
  REQUIRE(row.span().size() == 16);
  std::array<int, 4> packed{};
  std::memcpy(packed.data(), row.span().data(), 16);
  CHECK(packed == std::array<int, 4>{100, 102, 104, 106});
  const RowToReceive room(ReceivedValues(buffer.data(), 4, gaps.get()).memory());
  const std::array<int, 4> come = {1, 2, 3, 4};
  std::memcpy(room.span().data(), come.data(), 16);
  room.store();
  CHECK(buffer == std::vector<int>{1, 101, 2, 103, 3, 105, 4, 107});
}

TEST_CASE("mpi collectives: contributions are combined in their order") {
  const auto append = [](const std::string& left, const std::string& right) { return left + right; };
  // Elements are numbers of texts, which an operation without state can't make: it is in the table.
  struct Table {
    std::vector<std::string> texts;
    decltype(append) operation;
  } table{{"a", "b", "c", "d"}, append};
  const auto combine = [](const void* operation, const std::byte* left, const std::byte* right, std::byte* result,
                          std::size_t count) {
    Table& all = *static_cast<Table*>(const_cast<void*>(operation));
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t numbers[2];
      std::memcpy(&numbers[0], left + i * sizeof(std::size_t), sizeof(std::size_t));
      std::memcpy(&numbers[1], right + i * sizeof(std::size_t), sizeof(std::size_t));
      all.texts.push_back(all.operation(all.texts[numbers[0]], all.texts[numbers[1]]));
      const std::size_t made = all.texts.size() - 1;
      std::memcpy(result + i * sizeof(std::size_t), &made, sizeof made);
    }
  };
  const Reduction reduction{sizeof(std::size_t), combine, &table, false};
  const std::vector<std::size_t> given = {0, 1, 2, 3, 1, 0};  // of three members, two each
  std::vector<std::size_t> result(2);
  combine_in_order(reduction, std::as_bytes(std::span(given)), 3, std::as_writable_bytes(std::span(result)));
  CHECK(table.texts[result[0]] == "acb");
  CHECK(table.texts[result[1]] == "bda");
}

TEST_CASE("mpi collectives: in a grid what goes down is received from above") {
  const Edges edges = edges_of(Cartesian{{2}, {true}, {0}}, 0);
  REQUIRE(edges.sources.size() == 2);
  CHECK(edges.tags == 2);
  CHECK(edges.sources[0].peer == 1);
  CHECK(edges.sources[1].peer == 1);
  CHECK(edges.destinations[0].tag == edges.sources[1].tag);
  CHECK(edges.destinations[1].tag == edges.sources[0].tag);
  CHECK(edges.sources[0].tag != edges.sources[1].tag);
}

TEST_CASE("mpi collectives: beyond the edge of a grid is nobody") {
  const Edges edges = edges_of(Cartesian{{3, 1}, {false, false}, {0, 0}}, 0);
  REQUIRE(edges.sources.size() == 4);
  CHECK(edges.sources[0].peer == kProcNull);
  CHECK(edges.sources[1].peer == 1);
  CHECK(edges.destinations[2].peer == kProcNull);
  CHECK(edges.destinations[3].peer == kProcNull);
}

TEST_CASE("mpi collectives: edges of a distributed graph keep their order, and their messages theirs") {
  DistributedGraph graph;
  graph.sources = {2, 2, 0};
  graph.destinations = {1, 0, 1, 1};
  const Edges edges = edges_of(graph, 0);
  CHECK(edges.tags == 1);
  REQUIRE(edges.sources.size() == 3);
  REQUIRE(edges.destinations.size() == 4);
  CHECK(edges.sources[1].peer == 2);
  CHECK(edges.destinations[1].peer == 0);
  for (const Edge& edge : edges.destinations) CHECK(edge.tag == 0);
}

}  // namespace mpi_collectives_test
