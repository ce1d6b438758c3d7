// The reference for datatypes: MPI's type map written out, one entry for each basic value, by rules as plain as can be.
#pragma once

#include <cstddef>
#include <vector>

#include "interfaces/mpi/core/datatype.hpp"

namespace coracle::mpi::tests {

struct NaiveType {
  struct Entry {
    Basic basic;
    Count place;
    Count external_bytes;
  };
  std::vector<Entry> entries;  ///< In the packed order; of a pair both parts.
  Count lower = 0;
  Count upper = 0;
  bool marks_lower = false;
  bool marks_upper = false;
  Count alignment = 1;

  bool is_void() const { return entries.empty() && !marks_lower && !marks_upper; }
  Count extent() const { return upper - lower; }
  Count size() const;
  Count external_bytes() const;
  Count true_lower() const;
  Count true_upper() const;
  /// Where each byte lies, in the packed order.
  std::vector<Count> bytes() const;
  /// Whole entries within so many bytes of repetitions; kUndefined where they end within one.
  Count elements_in(Count bytes) const;
};

struct NaiveCopy {
  const NaiveType* type;
  Count place;
};

NaiveType naive_predefined(const Datatype& datatype);
/// A datatype of these, with MPI's epsilon.
NaiveType naive_combined(const std::vector<NaiveCopy>& copies);
/// The same, with both bounds set.
NaiveType naive_bounded(NaiveType type, Count lower, Count upper);

}  // namespace coracle::mpi::tests
