// How a datatype was made, for who asks: MPI_Type_get_envelope and MPI_Type_get_contents.
#include <algorithm>

#include "interfaces/mpi/core/construction.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

namespace {

/// What the program gets for a datatype that another one was made of: the same for a predefined one, else a new
/// object that is its own to free (MPI-4.1, 5.1.13), which attributes and names do not follow.
Datatype* handed_out(Datatype& datatype) {
  if (datatype.is_predefined()) return &datatype;
  auto* const made = new Datatype(datatype.layout(), datatype.construction());
  if (datatype.is_committed()) made->commit();
  return made;
}

const Construction& checked_construction(const Datatype* datatype) {
  const Construction& made = existing(datatype).construction();
  if (made.combiner == Combiner::named)
    raise(ErrorClass::type, "{} is a named datatype, which has no contents: ask MPI_Type_get_envelope first",
          datatype->label());
  return made;
}

void check_room(Count room, std::size_t needed, const char* what) {
  if (room < static_cast<Count>(needed))
    raise(ErrorClass::arg, "max_{} is {}, but there are {}: give what MPI_Type_get_envelope says", what, room, needed);
}

void check_narrow(const Construction& made) {
  if (!made.counts.empty())
    raise(ErrorClass::type,
          "the datatype was made with counts beyond int: ask MPI_Type_get_envelope_c and MPI_Type_get_contents_c");
}

}  // namespace

void type_get_envelope(Datatype* datatype, int& integers, int& addresses, int& datatypes, int& combiner) {
  const Construction& made = existing(datatype).construction();
  check_narrow(made);
  integers = static_cast<int>(made.integers.size());
  addresses = static_cast<int>(made.addresses.size());
  datatypes = static_cast<int>(made.datatypes.size());
  combiner = static_cast<int>(made.combiner);
}

void type_get_envelope_c(Datatype* datatype, Count& integers, Count& addresses, Count& large_counts, Count& datatypes,
                         int& combiner) {
  const Construction& made = existing(datatype).construction();
  integers = static_cast<Count>(made.integers.size());
  addresses = static_cast<Count>(made.addresses.size());
  large_counts = static_cast<Count>(made.counts.size());
  datatypes = static_cast<Count>(made.datatypes.size());
  combiner = static_cast<int>(made.combiner);
}

void type_get_contents(Datatype* datatype, Count max_integers, Count max_addresses, Count max_datatypes, int* integers,
                       Count* addresses, std::span<Datatype*> datatypes) {
  check_narrow(checked_construction(datatype));
  type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes, integers, addresses, nullptr, datatypes);
}

void type_get_contents_c(Datatype* datatype, Count max_integers, Count max_addresses, Count max_large_counts,
                         Count max_datatypes, int* integers, Count* addresses, Count* large_counts,
                         std::span<Datatype*> datatypes) {
  const Construction& made = checked_construction(datatype);
  check_room(max_integers, made.integers.size(), "integers");
  check_room(max_addresses, made.addresses.size(), "addresses");
  check_room(max_large_counts, made.counts.size(), "large_counts");
  check_room(max_datatypes, made.datatypes.size(), "datatypes");
  check_room(static_cast<Count>(datatypes.size()), made.datatypes.size(), "datatypes");
  std::copy(made.integers.begin(), made.integers.end(), integers);
  std::copy(made.addresses.begin(), made.addresses.end(), addresses);
  std::copy(made.counts.begin(), made.counts.end(), large_counts);
  std::transform(made.datatypes.begin(), made.datatypes.end(), datatypes.begin(),
                 [](const Ref<Datatype>& of) { return handed_out(*of); });
}

}  // namespace coracle::mpi
