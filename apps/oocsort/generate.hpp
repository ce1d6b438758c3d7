// Random records to sort.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <span>

#include "apps/common/file.hpp"
#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {

/// Record `number`: a random key, then as much of its number as fits, then zeroes. `record` is of shape.bytes.
void make_record(const RecordShape& shape, std::uint64_t seed, std::uint64_t number, std::span<std::byte> record);

/// Writes records `first` to `end` to their places in `file`.
Task<> write_records(Rank& self, RecordShape shape, std::uint64_t seed, std::uint64_t first, std::uint64_t end,
                     const File& file);

}  // namespace coracle::oocsort
