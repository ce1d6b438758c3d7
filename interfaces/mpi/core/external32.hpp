// external32: what values of any datatype are in MPI's common representation, for messages to elsewhere and for files.
#pragma once

#include <cstddef>
#include <span>

#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi {

/// Bytes of `count` values. Throws MpiError (count) beyond 2^63.
Count external32_bytes(const Datatype& datatype, Count count);

/// Writes `count` values at `buffer`: external32_bytes() of them. Throws MpiError (conversion) for a number that does
/// not fit, and as source_of and target_of do.
void to_external32(const void* buffer, Count count, const Datatype& datatype, std::byte* external);
void from_external32(const std::byte* external, void* buffer, Count count, const Datatype& datatype);

}  // namespace coracle::mpi
