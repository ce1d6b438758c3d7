// MPI_Type_create_subarray, and MPI_Type_create_darray: what one of many processes has of a distributed array.
#include <algorithm>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

using internals::Layout;
using internals::Order;

Order checked_order(int order) {
  if (order != kOrderC && order != kOrderFortran)
    raise(ErrorClass::arg, "order is {}: it is MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
  return order == kOrderC ? Order::c : Order::fortran;
}

std::vector<Count> dimensions_of(Numbers numbers, int ndims, const char* what) {
  if (ndims < 1) raise(ErrorClass::arg, "ndims is {}: an array has 1 dimension or more", ndims);
  if (numbers.is_null()) raise(ErrorClass::arg, "{} is null: give a number for each of {} dimensions", what, ndims);
  return numbers.list(static_cast<std::size_t>(ndims));
}

/// One dimension of a distributed array, and where this process is in it.
struct Distribution {
  Count size;
  Count kind;
  Count argument;
  Count processes;
  Count place = 0;
  std::size_t dimension = 0;

  [[noreturn]] void refuse(const char* why) const {
    raise(ErrorClass::arg, "in dimension {}, {} elements over {} processes in blocks of {} can not be distributed: {}",
          dimension, size, processes, argument, why);
  }
  /// Elements in a block, of which each process in turn gets one.
  Count block() const;
  /// This process's part of `size` elements; its extent is that of all.
  Layout part_of(const Layout& element) const;
};

Count Distribution::block() const {
  if (size < 0) refuse("the array has 0 or more");
  if (processes < 1) refuse("there is 1 process or more");
  const bool by_default = argument == kDistributeDefault;
  if (!by_default && kind != kDistributeNone && argument < 1)
    refuse("give a block 1 element or more, or MPI_DISTRIBUTE_DFLT_DARG");
  switch (kind) {
    case kDistributeNone:
      if (processes != 1) refuse("with MPI_DISTRIBUTE_NONE there is 1 process");
      return std::max<Count>(size, 1);
    case kDistributeCyclic:
      return by_default ? 1 : argument;
    case kDistributeBlock:
      if (by_default) return std::max<Count>((size + processes - 1) / processes, 1);
      if (argument < (size + processes - 1) / processes) refuse("with MPI_DISTRIBUTE_BLOCK one block each must do");
      return argument;
    default:
      refuse("give MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE");
  }
}

Layout Distribution::part_of(const Layout& element) const {
  using internals::layouts::multiply;
  const Count length = block();
  const Count extent = element.extent();
  // Blocks go round: one for each process in turn. Divided, since their product might not fit.
  const Count blocks = size / length;
  const Count rest = size % length;
  const Count mine = blocks / processes + (place < blocks % processes ? 1 : 0);
  const Count rest_length = place == blocks % processes ? rest : 0;
  const Count first = mine + (rest_length > 0 ? 1 : 0) == 0 ? 0 : multiply(multiply(place, length), extent);
  const Count step = mine + (rest_length > 0 ? 1 : 0) < 2 ? 0 : multiply(multiply(processes, length), extent);
  const Layout whole =
      Layout::structure({{1, first, element.hvector(mine, length, step)},
                         {1, internals::layouts::add(first, multiply(mine, step)), element.contiguous(rest_length)}});
  return whole.resized(0, multiply(size, extent));
}

/// Processes lie in C's order, whatever the array's (MPI-4.1, 5.1.4).
void place_process(std::vector<Distribution>& dimensions, int rank) {
  Count rest = rank;
  for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
    dimension->place = rest % dimension->processes;
    rest /= dimension->processes;
  }
}

void check_processes(const std::vector<Distribution>& dimensions, int size, int rank) {
  Count processes = 1;
  for (const Distribution& dimension : dimensions) {
    dimension.block();
    if (dimension.processes > size) processes = 0;
    processes *= dimension.processes;
    if (processes > size) processes = 0;
  }
  if (processes != size)
    raise(ErrorClass::arg, "the product of array_of_psizes is not the size, {}: give each process its place", size);
  if (rank < 0 || rank >= size)
    raise(ErrorClass::rank, "rank is {}, of {} processes: it is from 0 to {}", rank, size, size - 1);
}

struct DarrayArguments {
  std::vector<Count> gsizes;
  std::vector<Count> distribs;
  std::vector<Count> dargs;
  std::vector<Count> psizes;

  std::vector<Distribution> dimensions() const {
    std::vector<Distribution> all;
    for (std::size_t i = 0; i < gsizes.size(); ++i) all.push_back({gsizes[i], distribs[i], dargs[i], psizes[i], 0, i});
    return all;
  }
  Construction note(int size, int rank, int order, Datatype* oldtype) const {
    const auto ndims = static_cast<int>(gsizes.size());
    Construction made = noted(Combiner::darray, {}, {}, {&oldtype, 1});
    made.integers = {size, rank, ndims};
    fit(gsizes) ? append(made.integers, gsizes) : append(made.counts, gsizes);
    append(made.integers, distribs);
    append(made.integers, dargs);
    append(made.integers, psizes);
    made.integers.push_back(order);
    return made;
  }
};

Construction note_subarray(const std::vector<Count>& sizes, const std::vector<Count>& subsizes,
                           const std::vector<Count>& starts, int order, Datatype* oldtype) {
  Construction made = noted(Combiner::subarray, {}, {}, {&oldtype, 1});
  const bool narrow = fit(sizes) && fit(subsizes) && fit(starts);
  made.integers.push_back(static_cast<int>(sizes.size()));
  for (const auto* list : {&sizes, &subsizes, &starts})
    narrow ? append(made.integers, *list) : append(made.counts, *list);
  made.integers.push_back(order);
  return made;
}

}  // namespace

void type_create_subarray(int ndims, Numbers sizes, Numbers subsizes, Numbers starts, int order, Datatype* oldtype,
                          Datatype*& newtype) {
  const Datatype& old = existing(oldtype);
  const Order laid_out = checked_order(order);
  const std::vector<Count> all = dimensions_of(sizes, ndims, "array_of_sizes");
  const std::vector<Count> part = dimensions_of(subsizes, ndims, "array_of_subsizes");
  const std::vector<Count> from = dimensions_of(starts, ndims, "array_of_starts");
  newtype = make_datatype(note_subarray(all, part, from, order, oldtype),
                          [&] { return old.layout().subarray(all, part, from, laid_out); });
}

void type_create_darray(int size, int rank, int ndims, Numbers gsizes, Numbers distribs, Numbers dargs, Numbers psizes,
                        int order, Datatype* oldtype, Datatype*& newtype) {
  const Datatype& old = existing(oldtype);
  const Order laid_out = checked_order(order);
  const DarrayArguments arguments{
      dimensions_of(gsizes, ndims, "array_of_gsizes"), dimensions_of(distribs, ndims, "array_of_distribs"),
      dimensions_of(dargs, ndims, "array_of_dargs"), dimensions_of(psizes, ndims, "array_of_psizes")};
  std::vector<Distribution> dimensions = arguments.dimensions();
  check_processes(dimensions, size, rank);
  place_process(dimensions, rank);
  if (laid_out == Order::c) std::reverse(dimensions.begin(), dimensions.end());
  newtype = make_datatype(arguments.note(size, rank, order, oldtype), [&] {
    Layout part = old.layout();
    for (const Distribution& dimension : dimensions) part = dimension.part_of(part);
    return part;
  });
}

}  // namespace coracle::mpi
