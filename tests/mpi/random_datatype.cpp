#include "tests/mpi/random_datatype.hpp"

#include <algorithm>
#include <array>

#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi::tests {

namespace {

constexpr std::array kNames{"MPI_CHAR",
                            "MPI_SHORT",
                            "MPI_INT",
                            "MPI_LONG",
                            "MPI_DOUBLE",
                            "MPI_SHORT_INT",
                            "MPI_2INT",
                            "MPI_WCHAR",
                            "MPI_LONG_DOUBLE",
                            "MPI_DOUBLE_INT",
                            "MPI_BYTE",
                            "MPI_LONG_INT",
                            "MPI_C_BOOL",
                            "MPI_C_DOUBLE_COMPLEX",
                            "MPI_2COMPLEX",
                            "MPI_UNSIGNED_LONG",
                            "MPI_LONG_LONG",
                            "MPI_LOGICAL",
                            "MPI_LONG_DOUBLE_INT"};

std::size_t as_size(Count value) {
  return static_cast<std::size_t>(value);
}

/// `length` of `type` from `place` on.
void add_block(std::vector<NaiveCopy>& copies, const NaiveType& type, Count place, Count length) {
  for (Count i = 0; i < length; ++i) copies.push_back({&type, place + i * type.extent()});
}

std::vector<int> narrowed(const std::vector<Count>& values) {
  return {values.begin(), values.end()};
}

/// Which of `size` elements a process has.
std::vector<bool> owned(Count size, int kind, int block, int processes, Count place) {
  std::vector<bool> mine(as_size(size));
  for (Count i = 0; i < size; ++i) {
    if (kind == kDistributeNone)
      mine[as_size(i)] = true;
    else
      mine[as_size(i)] = i / block % processes == place;
  }
  return mine;
}

TestedType tested(Datatype* made, NaiveType naive) {
  return {Ref<Datatype>::adopt(made), std::move(naive)};
}

}  // namespace

Count DatatypesByChance::some(Count most) {
  return number(0, 9) == 0 ? 0 : number(1, most);
}

TestedType DatatypesByChance::predefined() {
  Datatype* const datatype = predefined_datatype(kNames[as_size(number(0, kNames.size() - 1))]);
  return {Ref<Datatype>(datatype), naive_predefined(*datatype)};
}

TestedType DatatypesByChance::vector(TestedType of) {
  const Count count = some(3);
  const Count length = some(3);
  const bool in_bytes = number(0, 1) == 1;
  const Count stride = in_bytes ? number(-40, 60) : number(-3, 6);
  std::vector<NaiveCopy> copies;
  for (Count i = 0; i < count; ++i)
    add_block(copies, of.naive, i * stride * (in_bytes ? 1 : of.naive.extent()), length);
  Datatype* made = nullptr;
  if (in_bytes)
    type_create_hvector(count, length, stride, of.datatype.get(), made);
  else
    type_vector(count, length, stride, of.datatype.get(), made);
  return tested(made, naive_combined(copies));
}

TestedType DatatypesByChance::indexed(TestedType of) {
  const Count count = some(4);
  const bool in_bytes = number(0, 1) == 1;
  const bool equal = number(0, 1) == 1;
  std::vector<Count> lengths;
  std::vector<Count> places;
  std::vector<NaiveCopy> copies;
  const Count length = some(3);
  for (Count i = 0; i < count; ++i) {
    lengths.push_back(equal ? length : some(3));
    places.push_back(in_bytes ? number(-50, 150) : number(-5, 15));
    add_block(copies, of.naive, places.back() * (in_bytes ? 1 : of.naive.extent()), lengths.back());
  }
  Datatype* made = nullptr;
  if (in_bytes && equal)
    type_create_hindexed_block(count, length, places.data(), of.datatype.get(), made);
  else if (in_bytes)
    type_create_hindexed(count, narrowed(lengths).data(), places.data(), of.datatype.get(), made);
  else if (equal)
    type_create_indexed_block(count, length, narrowed(places).data(), of.datatype.get(), made);
  else
    type_indexed(count, narrowed(lengths).data(), narrowed(places).data(), of.datatype.get(), made);
  return tested(made, naive_combined(copies));
}

TestedType DatatypesByChance::structure(int levels) {
  const Count count = some(4);
  std::vector<TestedType> fields;
  std::vector<int> lengths;
  std::vector<Count> places;
  std::vector<Datatype*> types;
  for (Count i = 0; i < count; ++i) {
    fields.push_back(next(levels));
    const Count kind = number(0, 11);
    if (kind < 2) {
      Datatype* const marker = predefined_datatype(kind == 0 ? "MPI_LB" : "MPI_UB");
      fields.back() = {Ref<Datatype>(marker), naive_predefined(*marker)};
    }
    lengths.push_back(static_cast<int>(some(3)));
    places.push_back(number(-50, 150));
    types.push_back(fields.back().datatype.get());
  }
  std::vector<NaiveCopy> copies;
  for (std::size_t i = 0; i < fields.size(); ++i) add_block(copies, fields[i].naive, places[i], lengths[i]);
  Datatype* made = nullptr;
  type_create_struct(count, lengths.data(), places.data(), types, made);
  return tested(made, naive_combined(copies));
}

TestedType DatatypesByChance::subarray(TestedType of) {
  const bool fortran = number(0, 1) == 1;
  int sizes[2];
  int subsizes[2];
  int starts[2];
  for (int i = 0; i < 2; ++i) {
    sizes[i] = static_cast<int>(number(1, 5));
    subsizes[i] = static_cast<int>(number(1, sizes[i]));
    starts[i] = static_cast<int>(number(0, sizes[i] - subsizes[i]));
  }
  const int slow = fortran ? 1 : 0;
  std::vector<NaiveCopy> copies;
  for (int y = 0; y < subsizes[slow]; ++y)
    for (int x = 0; x < subsizes[1 - slow]; ++x)
      copies.push_back({&of.naive, ((starts[slow] + y) * sizes[1 - slow] + starts[1 - slow] + x) * of.naive.extent()});
  Datatype* made = nullptr;
  type_create_subarray(2, sizes, subsizes, starts, fortran ? kOrderFortran : kOrderC, of.datatype.get(), made);
  return tested(made, naive_bounded(naive_combined(copies), 0, sizes[0] * sizes[1] * of.naive.extent()));
}

TestedType DatatypesByChance::darray(TestedType of) {
  const bool fortran = number(0, 1) == 1;
  int sizes[2];
  int kinds[2];
  int blocks[2];
  int arguments[2];
  int processes[2];
  for (int i = 0; i < 2; ++i) {
    sizes[i] = static_cast<int>(number(1, 9));
    kinds[i] = static_cast<int>(number(kDistributeNone, kDistributeCyclic));
    processes[i] = kinds[i] == kDistributeNone ? 1 : static_cast<int>(number(1, 3));
    const int least = kinds[i] == kDistributeBlock ? (sizes[i] + processes[i] - 1) / processes[i] : 1;
    const bool by_default = number(0, 2) == 0;
    blocks[i] = by_default ? least : least + static_cast<int>(number(0, 2));
    arguments[i] = by_default ? kDistributeDefault : blocks[i];
  }
  const int all = processes[0] * processes[1];
  const int rank = static_cast<int>(number(0, all - 1));
  const int places[2] = {rank / processes[1], rank % processes[1]};
  std::vector<bool> mine[2];
  for (int i = 0; i < 2; ++i) mine[i] = owned(sizes[i], kinds[i], blocks[i], processes[i], places[i]);
  const int slow = fortran ? 1 : 0;
  std::vector<NaiveCopy> copies;
  for (int y = 0; y < sizes[slow]; ++y)
    for (int x = 0; x < sizes[1 - slow]; ++x)
      if (mine[slow][as_size(y)] && mine[1 - slow][as_size(x)])
        copies.push_back({&of.naive, (y * sizes[1 - slow] + x) * of.naive.extent()});
  Datatype* made = nullptr;
  type_create_darray(all, rank, 2, sizes, kinds, arguments, processes, fortran ? kOrderFortran : kOrderC,
                     of.datatype.get(), made);
  return tested(made, naive_bounded(naive_combined(copies), 0, sizes[0] * sizes[1] * of.naive.extent()));
}

TestedType DatatypesByChance::resized(TestedType of) {
  const Count lower = number(-20, 20);
  const Count extent = number(-10, 60);
  Datatype* made = nullptr;
  type_create_resized(of.datatype.get(), lower, extent, made);
  return tested(made, naive_bounded(of.naive, lower, lower + extent));
}

TestedType DatatypesByChance::next(int levels) {
  if (levels == 0) return predefined();
  switch (number(0, 7)) {
    case 0:
      return predefined();
    case 1:
      return vector(next(levels - 1));
    case 2:
    case 3:
      return indexed(next(levels - 1));
    case 4:
      return subarray(next(levels - 1));
    case 5:
      return darray(next(levels - 1));
    case 6:
      return resized(next(levels - 1));
    default:
      return structure(levels - 1);
  }
}

}  // namespace coracle::mpi::tests
