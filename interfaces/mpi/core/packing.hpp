// What the functions share that pack into a program's memory, and unpack from it.
#pragma once

#include <cstddef>
#include <span>

#include "interfaces/mpi/core/constants.hpp"
#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

/// The next `bytes` at `position`. Throws MpiError: (arg) for a position outside, (truncate) where less is left.
template <class Byte, class Pointer>
std::span<Byte> piece_at(Pointer* buffer, Count size, Count position, Count bytes, const char* what) {
  if (position < 0 || size < 0 || position > size)
    raise(ErrorClass::arg, "the position is {} in {} of {} bytes: it lies within", position, what, size);
  if (size - position < bytes)
    raise(ErrorClass::truncate, "{} has {} bytes left at position {}, but {} are needed: ask MPI_Pack_size", what,
          size - position, position, bytes);
  if (bytes == 0) return {};
  if (buffer == nullptr) raise(ErrorClass::buffer, "{} is null: give {} bytes", what, bytes);
  return {static_cast<Byte*>(buffer) + position, static_cast<std::size_t>(bytes)};
}

}  // namespace coracle::mpi
