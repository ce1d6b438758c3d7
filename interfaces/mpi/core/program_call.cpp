// What entry points of collectives note, and the core and its collectives read.
#include "interfaces/mpi/core/program_call.hpp"

namespace coracle::mpi {

constinit internals::ProgramCall program_call;
constinit const CollectiveNames kCollectiveNames;

}  // namespace coracle::mpi
