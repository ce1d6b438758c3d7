// MPI's functions of attributes whose forms are the same in all languages; the ABI has the others.
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi {

namespace {

void free_keyval_of_program(KeyvalOf of, int& keyval) {
  free_keyval(of, keyval);
  keyval = kKeyvalInvalid;
}

}  // namespace

void comm_free_keyval(int& comm_keyval) {
  free_keyval_of_program(KeyvalOf::comm, comm_keyval);
}

void type_free_keyval(int& type_keyval) {
  free_keyval_of_program(KeyvalOf::datatype, type_keyval);
}

void comm_delete_attr(Comm* comm, int comm_keyval) {
  Comm& owner = checked(comm);
  owner.attributes.remove(owner, comm_keyval);
}

void type_delete_attr(Datatype* datatype, int type_keyval) {
  checked(static_cast<const Datatype*>(datatype));
  datatype->attributes.remove(*datatype, type_keyval);
}

}  // namespace coracle::mpi
