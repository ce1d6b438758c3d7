// MPI_Dims_create: factors of a number that are as close to each other as can be. See Traeff and Luebbe,
// "Specification guideline violations by MPI_Dims_create", EuroMPI 2015, for what that is, and for the search.
#include <algorithm>

#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/numbers.hpp"
#include "interfaces/mpi/core/topology.hpp"

namespace coracle::mpi {

namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int low = 1; low <= number / low; ++low) {
    if (number % low != 0) continue;
    divisors.push_back(low);
    if (low != number / low) divisors.push_back(number / low);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// Whether factor^parts >= number.
bool power_reaches(std::int64_t factor, std::size_t parts, std::int64_t number) noexcept {
  std::int64_t power = 1;
  for (std::size_t i = 0; i < parts && power < number; ++i) power *= factor;
  return power >= number;
}

/// Of all factorings, in non-increasing order, the one whose largest and smallest factor are closest; of those the one
/// with the smallest largest factor, and so on.
class Factoring {
 public:
  Factoring(int number, std::size_t parts) : divisors_(divisors_of(number)) {
    best_.assign(parts, 1);
    best_.front() = number;
    best_spread_ = number;
    search(number, parts, number);
  }
  const std::vector<int>& best() const noexcept { return best_; }

 private:
  void search(int number, std::size_t parts, int largest_allowed) {
    if (parts == 1) return finish(number);
    for (const int factor : divisors_) {
      if (factor > largest_allowed || factor > number) return;
      if (number % factor != 0 || !power_reaches(factor, parts, number)) continue;
      const int first = chosen_.empty() ? factor : chosen_.front();
      // As the first factor grows, so does the spread; as a later one grows, the others shrink.
      if (!can_be_better(first, number / factor, parts - 1)) return;
      chosen_.push_back(factor);
      search(number / factor, parts - 1, factor);
      chosen_.pop_back();
    }
  }

  /// The smallest of the parts is at most the root of what they have to give.
  bool can_be_better(int first, int number, std::size_t parts) const noexcept {
    const int smallest = first - best_spread_ + 1;
    return smallest <= 1 || !power_reaches(smallest, parts, std::int64_t{number} + 1);
  }

  void finish(int number) {
    if (!chosen_.empty() && number > chosen_.back()) return;
    const int spread = (chosen_.empty() ? number : chosen_.front()) - number;
    if (spread >= best_spread_) return;
    best_spread_ = spread;
    best_ = chosen_;
    best_.push_back(number);
  }

  std::vector<int> divisors_;
  std::vector<int> chosen_;
  std::vector<int> best_;
  int best_spread_;
};

/// What is left for the dimensions that are 0.
int check_given(int nodes, const std::vector<int>& dims) {
  if (nodes < 1) raise(ErrorClass::dims, "nnodes is {}: it must be 1 or more", nodes);
  std::int64_t product = 1;
  for (const int dim : dims) {
    if (dim < 0) raise(ErrorClass::dims, "a dimension is {}: give 0 where MPI is to choose", dim);
    if (dim > 0) product = std::min<std::int64_t>(product * dim, INT64_C(1) << 31);
  }
  if (nodes % product != 0)
    raise(ErrorClass::dims, "{} nodes are no multiple of the given dimensions' product, {}", nodes, product);
  return static_cast<int>(nodes / product);
}

}  // namespace

void balance_dims(int nodes, std::vector<int>& dims) {
  const int left = check_given(nodes, dims);
  const auto free = static_cast<std::size_t>(std::count(dims.begin(), dims.end(), 0));
  if (free == 0) {
    if (left != 1)
      raise(ErrorClass::dims, "the dimensions make {} nodes, not {}: give 0 where MPI is to choose", nodes / left,
            nodes);
    return;
  }
  const Factoring factoring(left, free);
  std::size_t next = 0;
  for (int& dim : dims) {
    if (dim == 0) dim = factoring.best()[next++];
  }
}

void dims_create(int nnodes, int ndims, int* dims) {
  if (ndims < 0) raise(ErrorClass::dims, "ndims is {}: it must be 0 or more", ndims);
  std::vector<int> balanced(dims, dims + ndims);
  balance_dims(nnodes, balanced);
  std::copy(balanced.begin(), balanced.end(), dims);
}

}  // namespace coracle::mpi
