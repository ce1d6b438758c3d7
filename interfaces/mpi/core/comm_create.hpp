// How communicators are made out of others.
#pragma once

#include <cstdint>
#include <memory>

#include "interfaces/mpi/core/comm.hpp"
#include "runtime/core/task.hpp"

namespace coracle::mpi {

/// Collective over `comm`. Null with color MPI_UNDEFINED. The new one has nothing of the old but its error handler.
Comm* split_comm(Comm& comm, int color, int key);

/// A team of the members of `group`, who alone call this, by messages over `comm`. Two at a time need other tags.
internals::Task<std::shared_ptr<internals::Team>> make_team_of(Ref<Comm> comm, Ref<Group> group, std::uint32_t tag);

}  // namespace coracle::mpi
