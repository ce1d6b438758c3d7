// Datatypes by chance beside their type maps: bounds, packing, counts of elements, contents, external32.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/random_datatype.hpp"
#include "tests/seeds.hpp"

namespace coracle::mpi::tests::datatype_random_test {

namespace {

using internals::test::Seeds;

std::size_t as_size(Count value) {
  return static_cast<std::size_t>(value);
}

Comm* some_comm() {
  static int place;
  return reinterpret_cast<Comm*>(&place);  // Only compared with null.
}

/// Memory that holds `count` values, and where their origin is.
struct Area {
  std::vector<std::byte> memory;
  std::byte* origin;
  std::vector<Count> places;  ///< Of each byte of the packed order, in `memory`.

  Area(const NaiveType& type, Count count, DatatypesByChance& chance) {
    const std::vector<Count> one = type.bytes();
    for (Count i = 0; i < count; ++i)
      for (const Count byte : one) places.push_back(byte + i * type.extent());
    const Count low = places.empty() ? 0 : *std::min_element(places.begin(), places.end());
    const Count high = places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1;
    memory.resize(as_size(high - low));
    // No number is too large for external32's long.
    for (std::byte& byte : memory) byte = static_cast<std::byte>(chance.number(0, 255));
    origin = memory.data() - low;
    for (Count& place : places) place -= low;
  }
  bool overlaps() const {
    std::vector<Count> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }
  std::vector<std::byte> packed() const {
    std::vector<std::byte> all;
    for (const Count place : places) all.push_back(memory[as_size(place)]);
    return all;
  }
};

void check_bounds(const TestedType& type) {
  const NaiveType& naive = type.naive;
  Count low = 0;
  Count extent = 0;
  type_get_extent(type.datatype.get(), low, extent);
  CHECK(low == naive.lower);
  CHECK(extent == naive.extent());
  type_get_true_extent(type.datatype.get(), low, extent);
  CHECK(low == naive.true_lower());
  CHECK(extent == naive.true_upper() - naive.true_lower());
  CHECK(type.datatype->size() == naive.size());
  CHECK(type.datatype->basic_values() == static_cast<Count>(naive.entries.size()));
  CHECK(type.datatype->external_bytes() == naive.external_bytes());
  CHECK(type.datatype->alignment() == naive.alignment);
}

void check_packing(const TestedType& type, DatatypesByChance& chance) {
  Datatype* datatype = type.datatype.get();
  const Count count = chance.number(0, 9) % 4;
  Area area(type.naive, count, chance);
  const std::vector<std::byte> expected = area.packed();
  Count position = 3;
  std::vector<std::byte> packed(expected.size() + 3);
  if (!expected.empty())
    pack(area.origin, count, datatype, packed.data(), static_cast<Count>(packed.size()), position, some_comm());
  if (!expected.empty()) CHECK(position == static_cast<Count>(packed.size()));
  CHECK(std::equal(expected.begin(), expected.end(), packed.begin() + 3));
  if (area.overlaps() || expected.empty()) return;
  const std::vector<std::byte> before = area.memory;
  for (const Count place : area.places) area.memory[as_size(place)] = {};
  position = 3;
  unpack(packed.data(), static_cast<Count>(packed.size()), position, area.origin, count, datatype, some_comm());
  CHECK(area.memory == before);
}

void check_elements(const TestedType& type, DatatypesByChance& chance) {
  Status status;
  status.bytes = chance.number(0, 3 * type.naive.size());
  Count elements = 0;
  get_elements(status, type.datatype.get(), elements);
  CHECK(elements == type.naive.elements_in(status.bytes));
  if (elements == kUndefined) return;
  Status set;
  status_set_elements(set, type.datatype.get(), elements);
  CHECK(set.bytes == status.bytes);
}

void check_signature(const TestedType& type) {
  std::size_t at = 0;
  bool same = true;
  for (const BasicRun& run : type.datatype->signature())
    for (Count i = 0; i < run.count; ++i)
      for (const Basic part : parts_of(run.basic))
        if (part != Basic::none)
          same = same && at < type.naive.entries.size() && type.naive.entries[at++].basic == part;
  CHECK(same);
  CHECK(at == type.naive.entries.size());
}

/// Makes it once more, from what it says of itself.
Datatype* rebuilt(Datatype* datatype) {
  int ni = 0;
  int na = 0;
  int nd = 0;
  int combiner = 0;
  type_get_envelope(datatype, ni, na, nd, combiner);
  if (combiner == static_cast<int>(Combiner::named)) return datatype;
  std::vector<int> integers(as_size(ni));
  std::vector<Count> addresses(as_size(na));
  std::vector<Datatype*> types(as_size(nd));
  type_get_contents(datatype, ni, na, nd, integers.data(), addresses.data(), types);
  std::vector<Datatype*> parts;
  for (Datatype* type : types) parts.push_back(rebuilt(type));
  const int* const all = integers.data();
  Datatype* made = nullptr;
  switch (static_cast<Combiner>(combiner)) {
    case Combiner::vector:
      type_vector(all[0], all[1], all[2], parts[0], made);
      break;
    case Combiner::hvector:
      type_create_hvector(all[0], all[1], addresses[0], parts[0], made);
      break;
    case Combiner::indexed:
      type_indexed(all[0], all + 1, all + 1 + all[0], parts[0], made);
      break;
    case Combiner::hindexed:
      type_create_hindexed(all[0], all + 1, addresses.data(), parts[0], made);
      break;
    case Combiner::indexed_block:
      type_create_indexed_block(all[0], all[1], all + 2, parts[0], made);
      break;
    case Combiner::hindexed_block:
      type_create_hindexed_block(all[0], all[1], addresses.data(), parts[0], made);
      break;
    case Combiner::structure:
      type_create_struct(all[0], all + 1, addresses.data(), parts, made);
      break;
    case Combiner::subarray:
      type_create_subarray(2, all + 1, all + 3, all + 5, all[7], parts[0], made);
      break;
    case Combiner::darray:
      type_create_darray(all[0], all[1], 2, all + 3, all + 5, all + 7, all + 9, all[11], parts[0], made);
      break;
    case Combiner::resized:
      type_create_resized(parts[0], addresses[0], addresses[1], made);
      break;
    default:
      FAIL("combiner ", combiner);
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i]->is_predefined()) continue;
    CHECK(types[i]->uses() == 1);
    if (types[i] != parts[i]) free_handle(parts[i]);
    free_handle(types[i]);
  }
  return made;
}

void check_contents(const TestedType& type) {
  Datatype* made = rebuilt(type.datatype.get());
  CHECK(made->layout() == type.datatype->layout());
  CHECK(made->marks_lower() == type.naive.marks_lower);
  CHECK(made->marks_upper() == type.naive.marks_upper);
  if (!made->is_predefined()) free_handle(made);
}

/// Numbers of C's long that external32 holds, and wide characters; others as they are.
void tame(const TestedType& type, Area& area) {
  std::size_t at = 0;
  while (at < area.places.size())
    for (const NaiveType::Entry& entry : type.naive.entries) {
      const std::size_t bytes = bytes_of(entry.basic);
      for (std::size_t i = as_size(entry.external_bytes); i < bytes; ++i)
        area.memory[as_size(area.places[at + i])] = {};
      if (as_size(entry.external_bytes) < bytes)
        area.memory[as_size(area.places[at + as_size(entry.external_bytes) - 1])] = std::byte{7};
      const bool extended = entry.basic == Basic::float80 && std::numeric_limits<long double>::digits == 64;
      for (std::size_t i = 10; extended && i < bytes; ++i) area.memory[as_size(area.places[at + i])] = {};
      if (extended) area.memory[as_size(area.places[at + 7])] |= std::byte{0x80};
      if (extended) area.memory[as_size(area.places[at + 8])] |= std::byte{1};
      at += bytes;
    }
}

void check_external32(const TestedType& type, DatatypesByChance& chance) {
  Datatype* datatype = type.datatype.get();
  const Count count = chance.number(1, 3);
  Area area(type.naive, count, chance);
  if (area.overlaps() || area.places.empty()) return;
  tame(type, area);
  Count size = 0;
  pack_external_size("external32", count, datatype, size);
  CHECK(size == count * type.naive.external_bytes());
  std::vector<std::byte> packed(as_size(size));
  Count position = 0;
  pack_external("external32", area.origin, count, datatype, packed.data(), size, position);
  CHECK(position == size);
  std::size_t from = 0;
  std::size_t to = 0;
  bool same = true;
  while (from < area.places.size())
    for (const NaiveType::Entry& entry : type.naive.entries) {
      const std::size_t bytes = bytes_of(entry.basic);
      const auto outside = as_size(entry.external_bytes);
      // The lowest byte is the last one there; floats of x87 and complex numbers are looked at elsewhere.
      const bool is_simple =
          entry.basic != Basic::float80 && entry.basic != Basic::complex64 && entry.basic != Basic::complex32;
      if (is_simple) same = same && packed[to + outside - 1] == area.memory[as_size(area.places[from])];
      from += bytes;
      to += outside;
    }
  CHECK(same);
  const std::vector<std::byte> before = area.memory;
  for (const Count place : area.places) area.memory[as_size(place)] = std::byte{0xaa};
  position = 0;
  unpack_external("external32", packed.data(), size, position, area.origin, count, datatype);
  CHECK(area.memory == before);
}

}  // namespace

TEST_CASE("datatypes: bounds, packing, elements, contents and external32 of random ones are those of their type maps") {
  const Seeds seeds("CORACLE_DATATYPE_SEEDS", 3000);
  for (const std::uint64_t seed : seeds) {
    const std::string again = seeds.repeat(seed);
    CAPTURE(again);
    DatatypesByChance chance(seed);
    TestedType type = chance.next(static_cast<int>(chance.number(0, 9) % 4));
    if (type.naive.entries.size() > 5000) continue;
    Datatype* datatype = type.datatype.get();
    type_commit(datatype);
    check_bounds(type);
    check_packing(type, chance);
    check_elements(type, chance);
    check_signature(type);
    check_contents(type);
    check_external32(type, chance);
  }
}

}  // namespace coracle::mpi::tests::datatype_random_test
