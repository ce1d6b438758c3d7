// What the constructors of datatypes share: how their arguments are noted, and how their errors are told.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "runtime/core/error.hpp"
#include "runtime/layout/node.hpp"

namespace coracle::mpi {

/// Notes a constructor's arguments: `counts` are integers of the narrow form, if all of them fit.
Construction noted(Combiner combiner, std::vector<Count> counts, std::vector<Count> addresses,
                   std::span<Datatype* const> datatypes);

/// As ints; only where all fit().
bool fit(const std::vector<Count>& counts) noexcept;
void append(std::vector<int>& integers, const std::vector<Count>& counts);
void append(std::vector<Count>& all, const std::vector<Count>& counts);

/// MPI_Type_get_contents, whose integers are in the core's values here: the order of subarrays and darrays,
/// distributions and their arguments. (An ABI gives its own.)
void type_get_contents(Datatype* datatype, Count max_integers, Count max_addresses, Count max_datatypes, int* integers,
                       Count* addresses, std::span<Datatype*> datatypes);
/// This and MPI_Type_get_envelope with wide counts (MPI-4), which the table of functions has not.
void type_get_envelope_c(Datatype* datatype, Count& integers, Count& addresses, Count& large_counts, Count& datatypes,
                         int& combiner);
void type_get_contents_c(Datatype* datatype, Count max_integers, Count max_addresses, Count max_large_counts,
                         Count max_datatypes, int* integers, Count* addresses, Count* large_counts,
                         std::span<Datatype*> datatypes);

/// The datatype of the layout that `layout()` gives, whose errors are told as MPI's.
template <class Build>
Datatype* make_datatype(Construction construction, Build layout) {
  try {
    return new Datatype(layout(), std::move(construction));
  } catch (const internals::layouts::TooLarge&) {
    raise(ErrorClass::arg, "the datatype's bounds would lie 2^63 bytes or more apart: take smaller displacements");
  } catch (const internals::Error& error) {
    raise(ErrorClass::arg, "{}", error.what());
  }
}

}  // namespace coracle::mpi
