// Whether a file is in order, and what records it holds.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

#include "apps/common/file.hpp"
#include "apps/oocsort/plan.hpp"

namespace coracle::oocsort {

/// Reads this rank's part of `file` and compares each record with the one before it. Gives the records' checksum.
/// Throws Error where a record comes before its predecessor.
Task<std::uint64_t> check_order(Rank& self, const Plan& plan, const File& file, std::uint64_t memory);

}  // namespace coracle::oocsort
