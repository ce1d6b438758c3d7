// Datatypes one by one: what they are called, how they end, what is refused, markers, large counts, Fortran's types.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace coracle::mpi::tests::datatype_test {

namespace {

Datatype* named(const char* name) {
  Datatype* const found = predefined_datatype(name);
  REQUIRE(found != nullptr);
  return found;
}

Comm* some_comm() {
  static int place;
  return reinterpret_cast<Comm*>(&place);  // Only compared with null.
}

Ref<Datatype> struct_of(std::vector<int> lengths, std::vector<Count> places, std::vector<const char*> names) {
  std::vector<Datatype*> types;
  for (const char* name : names) types.push_back(named(name));
  Datatype* made = nullptr;
  type_create_struct(static_cast<Count>(types.size()), lengths.data(), places.data(), types, made);
  return Ref<Datatype>::adopt(made);
}

void check_bounds(const Ref<Datatype>& type, Count lower, Count extent) {
  CHECK(type->lower_bound() == lower);
  CHECK(type->extent() == extent);
}

}  // namespace

TEST_CASE("datatypes: predefined ones are the same object each time, with their names, sizes and extents") {
  struct Row {
    const char* name;
    Count size;
    Count extent;
    Count true_extent;
  };
  const Row rows[] = {
      {"MPI_CHAR", 1, 1, 1},         {"MPI_INT", 4, 4, 4},          {"MPI_LONG_DOUBLE", 16, 16, 16},
      {"MPI_SHORT_INT", 6, 8, 8},    {"MPI_LONG_INT", 12, 16, 12},  {"MPI_DOUBLE_INT", 12, 16, 12},
      {"MPI_FLOAT_INT", 8, 8, 8},    {"MPI_2INT", 8, 8, 8},         {"MPI_LONG_DOUBLE_INT", 20, 32, 20},
      {"MPI_COMPLEX32", 32, 32, 32}, {"MPI_2COMPLEX", 16, 16, 16},  {"MPI_2DOUBLE_COMPLEX", 32, 32, 32},
      {"MPI_WCHAR", 4, 4, 4},        {"MPI_INTEGER16", 16, 16, 16}, {"MPI_LOGICAL", 4, 4, 4},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Datatype* const datatype = named(row.name);
    CHECK(predefined_datatype(row.name) == datatype);
    CHECK(datatype->is_predefined());
    CHECK(datatype->is_committed());
    std::string name;
    type_get_name(datatype, name);
    CHECK(name == row.name);
    CHECK(datatype->size() == row.size);
    CHECK(datatype->extent() == row.extent);
    CHECK(datatype->lower_bound() == 0);
    CHECK(datatype->layout().true_extent() == row.true_extent);
    int numbers[4] = {};
    type_get_envelope(datatype, numbers[0], numbers[1], numbers[2], numbers[3]);
    CHECK(numbers[3] == static_cast<int>(Combiner::named));
  }
  CHECK(named("MPI_LONG_LONG") == named("MPI_LONG_LONG_INT"));
  CHECK(named("MPI_C_COMPLEX") == named("MPI_C_FLOAT_COMPLEX"));
  CHECK(named("MPI_INT") != named("MPI_INTEGER"));
  CHECK(predefined_datatype("MPI_NONE") == nullptr);
}

TEST_CASE("datatypes: extents are rounded up to the alignment, but for those that are set") {
  const Ref<Datatype> padded = struct_of({1, 1}, {0, 8}, {"MPI_DOUBLE", "MPI_CHAR"});
  check_bounds(padded, 0, 16);
  check_bounds(struct_of({1, 1}, {-3, 8}, {"MPI_CHAR", "MPI_INT"}), -3, 16);
  check_bounds(struct_of({1, 1}, {8, 0}, {"MPI_CHAR", "MPI_SHORT_INT"}), 0, 12);
  check_bounds(struct_of({1, 1}, {32, 0}, {"MPI_CHAR", "MPI_C_DOUBLE_COMPLEX"}), 0, 40);
  Datatype* made = nullptr;
  type_create_hvector(2, 1, 5, named("MPI_INT"), made);
  check_bounds(Ref<Datatype>::adopt(made), 0, 12);
  type_create_resized(padded.get(), 0, 9, made);
  const auto tight = Ref<Datatype>::adopt(made);
  check_bounds(tight, 0, 9);
  type_contiguous(3, tight.get(), made);
  check_bounds(Ref<Datatype>::adopt(made), 0, 27);
}

TEST_CASE("datatypes: MPI_LB and MPI_UB set one bound each, wherever the datatype is used") {
  const Ref<Datatype> low = struct_of({1, 1, 1}, {-4, 0, 21}, {"MPI_LB", "MPI_DOUBLE", "MPI_CHAR"});
  check_bounds(low, -4, 32);
  const Ref<Datatype> high = struct_of({1, 1, 1}, {3, 0, 21}, {"MPI_UB", "MPI_DOUBLE", "MPI_CHAR"});
  check_bounds(high, 0, 3);
  check_bounds(struct_of({1, 1}, {-3, 6}, {"MPI_LB", "MPI_UB"}), -3, 9);
  Datatype* parts[] = {low.get(), named("MPI_INT")};
  const int lengths[] = {1, 1};
  const Count places[] = {0, -50};
  Datatype* made = nullptr;
  type_create_struct(2, lengths, places, parts, made);
  const auto nested = Ref<Datatype>::adopt(made);
  check_bounds(nested, -4, 32);
  CHECK(nested->layout().true_lower_bound() == -50);
  Count upper = 0;
  type_ub(high.get(), upper);
  CHECK(upper == 3);
}

TEST_CASE("datatypes: what is wrong is refused by its class") {
  Datatype* made = nullptr;
  Datatype* number = named("MPI_INT");
  const int lengths[] = {1, -1};
  const Count places[] = {0, 8};
  CHECK(class_of([&] { type_contiguous(-1, number, made); }) == ErrorClass::count);
  CHECK(class_of([&] { type_vector(1, -1, 1, number, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_vector(1, 1, 1, nullptr, made); }) == ErrorClass::type);
  CHECK(class_of([&] { type_create_hindexed(2, lengths, places, number, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_contiguous(Count{1} << 62, number, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_free(number); }) == ErrorClass::type);
  CHECK(number == named("MPI_INT"));
  CHECK(class_of([&] { type_create_f90_real(40, kUndefined, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_match_size(kTypeClassReal, 3, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_get_contents(number, 0, 0, 0, nullptr, nullptr, {}); }) == ErrorClass::type);
  const int four[] = {4, 4};
  const int two[] = {2, 2};
  const int three[] = {3, 3};
  CHECK(class_of([&] { type_create_subarray(2, four, two, three, kOrderC, number, made); }) == ErrorClass::arg);
  CHECK(class_of([&] { type_create_subarray(2, four, two, two, 7, number, made); }) == ErrorClass::arg);
  const int blocks[] = {kDistributeBlock, kDistributeBlock};
  const int ones[] = {1, 1};
  CHECK(class_of([&] { type_create_darray(5, 0, 2, four, blocks, two, two, kOrderC, number, made); }) ==
        ErrorClass::arg);
  CHECK(class_of([&] { type_create_darray(4, 0, 2, four, blocks, ones, two, kOrderC, number, made); }) ==
        ErrorClass::arg);
  CHECK(made == nullptr);
}

TEST_CASE("datatypes: buffers of calls are checked, and plain ones are bytes") {
  int data[8] = {};
  Datatype* made = nullptr;
  type_vector(2, 1, 2, named("MPI_INT"), made);
  const auto vector = Ref<Datatype>::adopt(made);
  CHECK(class_of([&] { source_of(data, 1, vector.get()); }) == ErrorClass::type);
  CHECK(class_of([&] { source_of(data, 1, nullptr); }) == ErrorClass::type);
  CHECK(class_of([&] { source_of(data, -2, named("MPI_INT")); }) == ErrorClass::count);
  CHECK(class_of([&] { target_of(nullptr, 1, named("MPI_INT")); }) == ErrorClass::buffer);
  CHECK(class_of([&] { source_of(nullptr, 0, named("MPI_INT")); }) == ErrorClass::success);
  CHECK(class_of([&] { source_of(data, Count{1} << 62, named("MPI_INT")); }) == ErrorClass::count);
  vector->commit();
  CHECK(source_of(data, 1, vector.get()).is_scattered());
  CHECK(class_of([&] { source_of(nullptr, 1, vector.get()); }) == ErrorClass::buffer);
  const internals::MessageSource plain = source_of(data, 8, named("MPI_INT"));
  CHECK_FALSE(plain.is_scattered());
  CHECK(plain.bytes() == sizeof data);
  const internals::MessageSource large = source_of(data, Count{1} << 40, named("MPI_INT"));
  CHECK(large.bytes() == std::size_t{4} << 40);

  Count address = 0;
  get_address(data, address);
  const int one = 1;
  type_create_hindexed(1, &one, &address, named("MPI_INT"), made);
  const auto absolute = Ref<Datatype>::adopt(made);
  absolute->commit();
  CHECK(source_of(nullptr, 1, absolute.get()).origin() == reinterpret_cast<const std::byte*>(data));
}

TEST_CASE("datatypes: names are kept up to their length, and duplicates begin without one") {
  Datatype* made = nullptr;
  type_contiguous(2, named("MPI_INT"), made);
  const auto pair = Ref<Datatype>::adopt(made);
  type_set_name(pair.get(), std::string(100, 'x').c_str());
  std::string name;
  type_get_name(pair.get(), name);
  CHECK(name == std::string(kObjectNameMax - 1, 'x'));
  type_get_name(nullptr, name);
  CHECK(name == "MPI_DATATYPE_NULL");
  pair->commit();
  type_dup(pair.get(), made);
  const auto copy = Ref<Datatype>::adopt(made);
  CHECK(copy->name.empty());
  CHECK(copy->is_committed());
  CHECK(copy->layout() == pair->layout());
  int numbers[4] = {};
  type_get_envelope(copy.get(), numbers[0], numbers[1], numbers[2], numbers[3]);
  CHECK(numbers[2] == 1);
  CHECK(numbers[3] == static_cast<int>(Combiner::dup));
}

TEST_CASE("datatypes: contents outlive the datatypes they were made of") {
  Datatype* inner = nullptr;
  type_contiguous(3, named("MPI_INT"), inner);
  Datatype* outer = nullptr;
  type_create_resized(inner, -4, 40, outer);
  type_free(inner);
  CHECK(inner == nullptr);
  Count bounds[2] = {};
  Datatype* part = nullptr;
  type_get_contents(outer, 0, 2, 1, nullptr, bounds, {&part, 1});
  type_free(outer);
  CHECK(bounds[0] == -4);
  CHECK(bounds[1] == 40);
  CHECK(part->size() == 12);
  CHECK(part->construction().combiner == Combiner::contiguous);
  type_free(part);
}

TEST_CASE("datatypes: counts beyond int are told in the wide form") {
  const Count many = Count{5} << 32;
  Datatype* made = nullptr;
  type_create_hvector(many, 2, 24, named("MPI_DOUBLE"), made);
  const auto type = Ref<Datatype>::adopt(made);
  CHECK(type->size() == many * 16);
  CHECK(type->extent() == (many - 1) * 24 + 16);
  Count integers = 0;
  Count addresses = 0;
  Count counts = 0;
  Count types = 0;
  int combiner = 0;
  type_get_envelope_c(type.get(), integers, addresses, counts, types, combiner);
  CHECK(integers == 0);
  CHECK(addresses == 0);
  CHECK(counts == 3);
  Count numbers[3] = {};
  Datatype* part = nullptr;
  type_get_contents_c(type.get(), 0, 0, 3, 1, nullptr, nullptr, numbers, {&part, 1});
  CHECK(numbers[0] == many);
  CHECK(numbers[2] == 24);
  CHECK(part == named("MPI_DOUBLE"));
  int narrow = 0;
  CHECK(class_of([&] { type_get_envelope(type.get(), narrow, narrow, narrow, combiner); }) == ErrorClass::type);
}

TEST_CASE("datatypes: elements of huge messages are counted without going through them") {
  const Count many = Count{1} << 50;
  const Ref<Datatype> one = struct_of({1, 2, 1}, {0, 4, 24}, {"MPI_INT", "MPI_DOUBLE", "MPI_SHORT"});
  Datatype* made = nullptr;
  type_contiguous(many, one.get(), made);
  const auto type = Ref<Datatype>::adopt(made);
  Status status;
  status.bytes = (many - 3) * 22 + 12;
  Count count = 0;
  get_elements(status, type.get(), count);
  CHECK(count == (many - 3) * 4 + 2);
  get_count(status, type.get(), count);
  CHECK(count == kUndefined);
  ++status.bytes;
  get_elements(status, type.get(), count);
  CHECK(count == kUndefined);
  status_set_elements(status, type.get(), 4 * many + 3);
  CHECK(status.bytes == 22 * many + 20);
  CHECK(class_of([&] { status_set_elements(status, type.get(), Count{1} << 62); }) == ErrorClass::arg);
  type_contiguous(0, one.get(), made);
  const auto nothing = Ref<Datatype>::adopt(made);
  status.bytes = 0;
  get_count(status, nothing.get(), count);
  CHECK(count == 0);
  get_elements(status, nothing.get(), count);
  CHECK(count == 0);
  status.bytes = 20;  // A double, an int and a double.
  get_elements(status, named("MPI_DOUBLE_INT"), count);
  CHECK(count == 3);
}

TEST_CASE("datatypes: Fortran's types by precision are the same object for the same arguments") {
  Datatype* first = nullptr;
  Datatype* second = nullptr;
  type_create_f90_real(15, kUndefined, first);
  type_create_f90_real(15, kUndefined, second);
  CHECK(first == second);
  CHECK(first->basic() == Basic::float64);
  type_create_f90_real(kUndefined, 37, second);
  CHECK(second->basic() == Basic::float32);
  int numbers[4] = {};
  type_get_envelope(first, numbers[0], numbers[1], numbers[2], numbers[3]);
  CHECK(numbers[0] == 2);
  CHECK(numbers[2] == 0);
  CHECK(numbers[3] == static_cast<int>(Combiner::f90_real));
  int arguments[2] = {};
  type_get_contents(first, 2, 0, 0, arguments, nullptr, {});
  CHECK(arguments[0] == 15);
  CHECK(arguments[1] == kUndefined);
  type_create_f90_complex(6, 30, second);
  CHECK(second->basic() == Basic::complex32);
  type_create_f90_integer(18, second);
  CHECK(second->basic() == Basic::int64);
  CHECK(class_of([&] { type_free(second); }) == ErrorClass::type);
  type_match_size(kTypeClassComplex, 16, second);
  CHECK(second == named("MPI_COMPLEX16"));
}

TEST_CASE("datatypes: packing stops where there is no room") {
  int data[4] = {1, 2, 3, 4};
  std::byte room[12];
  Count position = 0;
  Datatype* number = named("MPI_INT");
  pack(data, 2, number, room, sizeof room, position, some_comm());
  CHECK(position == 8);
  CHECK(class_of([&] { pack(data, 2, number, room, sizeof room, position, some_comm()); }) == ErrorClass::truncate);
  CHECK(position == 8);
  CHECK(class_of([&] { pack(data, 1, number, room, sizeof room, position, nullptr); }) == ErrorClass::comm);
  position = 13;
  CHECK(class_of([&] { pack(data, 1, number, room, sizeof room, position, some_comm()); }) == ErrorClass::arg);
  position = 8;
  CHECK(class_of([&] { unpack(room, 8, position, data, 1, number, some_comm()); }) == ErrorClass::truncate);
  Count size = 0;
  pack_size(Count{1} << 40, number, some_comm(), size);
  CHECK(size == Count{4} << 40);
}

}  // namespace coracle::mpi::tests::datatype_test
