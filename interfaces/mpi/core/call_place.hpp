// Where the program has called a function, as tools are told.
#pragma once

#include "runtime/core/events.hpp"

namespace coracle::mpi {

/// Before the program can go to another folder: its path may be relative.
void prepare_call_places() noexcept;
/// Of what the function returns to; null where that is in no file, or there is no memory. It stays. Behind the lock of
/// calls, where several threads may call.
const coracle_place* place_of_call(const void* returns_to) noexcept;

}  // namespace coracle::mpi
