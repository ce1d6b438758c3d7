// Status: what has been received.
#pragma once

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

/// The empty status (MPI-3.1, 3.7.3) is the default one. Its error is set only where MPI says so
/// (ErrorClass::in_status).
struct Status {
  int source = kAnySource;
  int tag = kAnyTag;
  int error = 0;  ///< In the core's numbers.
  bool cancelled = false;
  Count bytes = 0;
};

}  // namespace coracle::mpi
