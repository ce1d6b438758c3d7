// Datatypes by chance, each with its type map beside it.
#pragma once

#include <random>
#include <utility>

#include "interfaces/mpi/core/datatype.hpp"
#include "tests/mpi/naive_type.hpp"

namespace coracle::mpi::tests {

struct TestedType {
  Ref<Datatype> datatype;
  NaiveType naive;
};

class DatatypesByChance {
 public:
  explicit DatatypesByChance(std::uint64_t seed) : random_(seed) {}

  /// With at most so many levels.
  TestedType next(int levels);
  Count number(Count low, Count high) { return std::uniform_int_distribution<Count>(low, high)(random_); }

 private:
  /// Seldom none.
  Count some(Count most);
  TestedType predefined();
  TestedType vector(TestedType of);
  TestedType indexed(TestedType of);
  TestedType structure(int levels);
  TestedType subarray(TestedType of);
  TestedType darray(TestedType of);
  TestedType resized(TestedType of);

  std::mt19937_64 random_;
};

}  // namespace coracle::mpi::tests
