// The names of communicators.
#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

void comm_get_name(Comm* comm, std::string& comm_name) {
  comm_name = checked(comm).name;
}

/// A longer name is cut, as MPI has it.
void comm_set_name(Comm* comm, const char* comm_name) {
  if (comm_name == nullptr) raise(ErrorClass::arg, "the name is a null pointer");
  std::string name = comm_name;
  if (name.size() >= kObjectNameMax) name.resize(kObjectNameMax - 1);
  checked(comm).name = std::move(name);
}

}  // namespace coracle::mpi
