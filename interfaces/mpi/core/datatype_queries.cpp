// What programs ask of a datatype; its commit, its end and its name.
#include <algorithm>
#include <cstring>

#include "interfaces/mpi/core/datatype.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {

void type_commit(Datatype*& datatype) {
  existing(datatype);
  datatype->commit();
}

void type_free(Datatype*& datatype) {
  if (existing(datatype).is_predefined())
    raise(ErrorClass::type, "{} is predefined: only datatypes that the program has made are freed", datatype->label());
  datatype->attributes.remove_all(*datatype);
  free_handle(datatype);
}

void type_size(Datatype* datatype, Count& size) {
  size = existing(datatype).size();
}

void type_get_extent(Datatype* datatype, Count& lb, Count& extent) {
  lb = existing(datatype).lower_bound();
  extent = datatype->extent();
}

void type_get_true_extent(Datatype* datatype, Count& true_lb, Count& true_extent) {
  true_lb = existing(datatype).layout().true_lower_bound();
  true_extent = datatype->layout().true_extent();
}

void type_extent(Datatype* datatype, Count& extent) {
  extent = existing(datatype).extent();
}

void type_lb(Datatype* datatype, Count& displacement) {
  displacement = existing(datatype).lower_bound();
}

void type_ub(Datatype* datatype, Count& displacement) {
  displacement = existing(datatype).lower_bound() + datatype->extent();
}

void type_get_name(Datatype* datatype, std::string& name) {
  name = datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name;
}

void type_set_name(Datatype* datatype, const char* name) {
  existing(datatype);
  if (name == nullptr) raise(ErrorClass::arg, "the name is null: give a text, if only an empty one");
  datatype->name.assign(name, strnlen(name, kObjectNameMax - 1));
}

}  // namespace coracle::mpi
